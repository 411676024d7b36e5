import { randomUUID } from "node:crypto";
import {
  type Address,
  createWalletClient,
  encodeAbiParameters,
  type Hex,
  http,
  keccak256,
  parseAbi,
  parseGwei,
  stringToHex,
} from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { productOperatorAbi } from "../../contracts/abi/product-operator.ts";
import { carryOut, type Operation, planOperation } from "../../src/products/carry-out.ts";
import { burnTokens, transferTokens, updateToken } from "../../src/products/change-tokens.ts";
import type { TokenInput } from "../../src/products/check-tokens.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { easyMint } from "../../src/products/easy-mint.ts";
import { productRequests } from "../../src/products/find-product.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { getRequest } from "../../src/requests/requests.ts";
import type { Services } from "../../src/services.ts";
import type { TokensPayload } from "../../src/transactions/store/payloads.ts";
import { HttpApi } from "../collections/http-api.ts";
import { request } from "../collections/launch-fixture.ts";
import { type Answer, send } from "../setup/send.ts";
import { ProductScenario, productReads, randomAddress, uri } from "./scenario.ts";

let s: ProductScenario;
let api: HttpApi;
/** A worker that waits for more confirmations than there are blocks. */
let patientWorker: Services;
beforeAll(async () => {
  s = await ProductScenario.start();
  patientWorker = s.h.process({ CONFIRMATIONS_GOERLI: "1000" });
  api = await HttpApi.start(s.services);
});
afterAll(async () => {
  await api?.stop();
  await s?.stop();
});

test("a refusal under one key answers no request of another key that stands", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc1155", owner);
  await s.ended(await s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 1n, quantity: 5n }] }));
  const burn = async (idempotencyKey: string) =>
    await carryOut(
      s.services,
      s.caller,
      await burnTokens(s.services, s.caller, {
        ...{ chain: "goerli", contract, tokens: [{ tokenId: 1n, quantity: 5n }], idempotencyKey },
      }),
    );
  const first = await burn("stands");
  await s.ended(first);
  await expect(burn("refused")).rejects.toMatchObject({ code: "value_error" });
  expect((await burn("stands")).request.id).toBe(first.request.id);
});

test("a receiver that says what the operator says of a request that is done is refused", async () => {
  const contract = await s.contract();
  const words = `08c379a0${encodeAbiParameters([{ type: "string" }], ["IntentDone"]).slice(2)}`;
  const byte = (value: number) => value.toString(16).padStart(2, "0");
  const size = byte(words.length / 2);
  // Copies what follows these twelve bytes, and reverts with it.
  const code = `60${size}600c60003960${size}6000fd${words}`;
  const length = byte(code.length / 2);
  const data: Hex = `0x60${length}600c60003960${length}6000f3${code}`;
  const wallet = createWalletClient({ transport: http(s.h.node.url) });
  const hash = await wallet.sendTransaction({ account: await s.unlocked(), data, chain: null });
  const { contractAddress } = await s.h.chain.waitForTransactionReceipt({ hash });
  const before = await s.sent();
  await expect(s.mint({ contract, tokens: [{ to: contractAddress ?? "", uri }] })).rejects.toMatchObject({
    code: "value_error",
  });
  expect(await s.sent()).toBe(before);
});

test("half of a character is refused as the client's fault, wherever it is", async () => {
  const contract = await s.contract();
  const half = "\ud800";
  const fault = { code: "value_error" };
  await expect(s.mint({ contract, tokens: [{ to: randomAddress(), uri: `ipfs://${half}` }] })).rejects.toMatchObject(
    fault,
  );
  const made = { chain: "goerli", name: `N${half}`, symbol: "N", ownerAddress: randomAddress() };
  await expect(createContract(s.services, s.caller, made)).rejects.toMatchObject({ ...fault, field: "name" });
  const easy = { chain: "goerli", name: "n", description: half, fileUrl: "ipfs://x", to: randomAddress() };
  expect(() => easyMint(s.services, s.caller, easy)).toThrow("half of a character");
});

const place = (contract: Address) => ({ chain: "goerli", contract });
const done = async (operation: Promise<Operation> | Operation) => {
  const carried = await carryOut(s.services, s.caller, await operation);
  await s.ended(carried);
  return carried.request.id;
};
const burnOf = (contract: Address, tokens: readonly TokenInput[]) =>
  burnTokens(s.services, s.caller, { ...place(contract), tokens });

test("what stands by an equal request that came meanwhile is that request's, not the one's before it", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  const mint = () =>
    mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri, tokenId: 9n }] });
  const first = await done(mint());
  await done(burnOf(contract, [{ tokenId: 9n }]));
  let newer = "";
  const late = {
    ...(await mint()),
    stands: async () => {
      newer ||= await carryOut(s.h.process(), s.caller, await mint()).then(({ request }) => request.id);
      return true;
    },
  };
  const { request } = await carryOut(s.services, s.caller, late);
  expect(newer).not.toBe(first);
  expect(request.id).toBe(newer);
});

test("the same mint of a burned id is another mint, and so is the same burn after it", async () => {
  for (const type of ["erc721", "erc1155"] as const) {
    const owner = await s.unlocked();
    const contract = await s.contract(type, owner);
    const quantity = type === "erc721" ? {} : { quantity: 5n };
    const mint = () =>
      mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri, tokenId: 7n, ...quantity }] });
    const burn = () => burnOf(contract, [{ tokenId: 7n, ...quantity }]);
    const first = await done(mint());
    expect(await done(mint())).toBe(first);
    const burned = await done(burn());
    expect(await done(burn())).toBe(burned);
    // Also from several processes at once it is one more mint.
    const other = s.h.process();
    const again = await Promise.all(
      [s.services, other, s.services, other].map(async (services) => await carryOut(services, s.caller, await mint())),
    );
    const second = again[0]?.request.id ?? "";
    expect(new Set(again.map(({ request }) => request.id))).toEqual(new Set([second]));
    expect(second).not.toBe(first);
    await s.h.until(s.services, second, ["finalized"]);
    expect(await done(mint())).toBe(second);
    expect(await done(burn())).not.toBe(burned);
    expect(await done(mint())).not.toBe(second);
    const keyed = await mintTokens(s.services, s.caller, {
      ...{
        ...place(contract),
        tokens: [{ to: owner, uri, tokenId: 7n, ...quantity }],
        idempotencyKey: "while-it-stands",
      },
    });
    expect(await done(keyed)).toBe(await done(mint()));
  }
});

test("a mint whose drawn token was burned is another mint, by the service or by its owner", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  const mint = () => mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri }] });
  const tokenOf = async (id: string) =>
    BigInt(
      ((await getRequest(s.services, s.caller, productRequests, { id })).payload as TokensPayload).tokens[0]?.tokenId ??
        0,
    );
  const first = await done(mint());
  await done(burnOf(contract, [{ tokenId: await tokenOf(first) }]));
  const second = await done(mint());
  expect(second).not.toBe(first);
  await owned(contract, "transferFrom(address,address,uint256)", [owner, randomAddress(), await tokenOf(second)]);
  // It stands, wherever it went.
  expect(await done(mint())).toBe(second);
});

test("a transfer whose token came back is another transfer; one that was passed on is not", async () => {
  const owner = await s.unlocked();
  const accounts = (await s.h.chain.request({ method: "eth_accounts" } as never)) as Address[];
  const to = accounts[2] ?? randomAddress();
  const contract = await s.contract("erc721", owner);
  await s.ended(await s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 1n }] }));
  const transfer = () => transferTokens(s.services, s.caller, { ...place(contract), tokens: [{ tokenId: 1n, to }] });
  const first = await done(transfer());
  expect(await done(transfer())).toBe(first);
  const move = "transferFrom(address,address,uint256)";
  await owned(contract, move, [to, owner, 1n], to);
  const second = await done(transfer());
  expect(second).not.toBe(first);
  const holder = () =>
    s.h.chain.readContract({ address: contract, abi: productReads, functionName: "ownerOf", args: [1n] });
  expect((await holder()).toLowerCase()).toBe(to.toLowerCase());
  await owned(contract, move, [to, randomAddress(), 1n], to);
  expect(await done(transfer())).toBe(second);
});

test("an update of a token that was burned and minted again is another update", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  const mint = () =>
    mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri, tokenId: 3n }] });
  const update = () => updateToken(s.services, s.caller, { ...place(contract), tokenId: 3n, uri: "ipfs://other" });
  await done(mint());
  const first = await done(update());
  expect(await done(update())).toBe(first);
  await done(burnOf(contract, [{ tokenId: 3n }]));
  await done(mint());
  expect(await done(update())).not.toBe(first);
  const shown = { address: contract, abi: productReads, functionName: "tokenURI", args: [3n] } as const;
  expect(await s.h.chain.readContract(shown)).toBe("ipfs://other");
});

test("what failed on the chain is asked for again as a new request", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  await s.ended(await s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 1n }] }));
  const tokens = [{ tokenId: 1n, to: randomAddress() }];
  const created = { chain: "goerli", name: "Again", symbol: "AGN", ownerAddress: owner };
  for (const ask of [
    () => mintTokens(s.services, s.caller, { ...place(contract), tokens: [{ to: owner, uri }] }),
    () => transferTokens(s.services, s.caller, { ...place(contract), tokens }),
    () => createContract(s.services, s.caller, created),
  ]) {
    const failed = await failing(ask);
    const again = await done(ask());
    expect(again).not.toBe(failed);
    expect(await done(ask())).toBe(again);
  }
});

/** Has the operator stopped in the block that the request is mined in. */
async function failing(ask: () => Promise<Operation>): Promise<string> {
  const [admin] = (await s.h.chain.request({ method: "eth_accounts" } as never)) as Address[];
  await s.h.chain.setAutomine(false);
  try {
    const { request } = await carryOut(s.services, s.caller, await ask());
    // Sent later it would be held: the operator is stopped then.
    await s.h.pooled(s.services, request.transactionHash);
    const wallet = createWalletClient({ transport: http(s.h.node.url) });
    await wallet.writeContract({
      ...{ account: admin ?? "0x", address: s.h.operator?.address ?? "0x", chain: null },
      ...{ abi: parseAbi(["function pause()"]), functionName: "pause" },
      ...{ gas: 500_000n, maxFeePerGas: parseGwei("2000"), maxPriorityFeePerGas: parseGwei("100") },
    });
    await s.h.chain.mine({ blocks: 1 });
    await s.h.chain.setAutomine(true);
    await s.ended({ request }, ["failed_onchain"]);
    return request.id;
  } finally {
    await s.h.chain.setAutomine(true);
    await s.h.pauseOperator(false);
    await s.h.chain.mine({ blocks: 30 });
  }
}

/** A call that a holder sends by itself. */
async function owned(address: Address, call: string, args: readonly unknown[], account?: Address): Promise<void> {
  const wallet = createWalletClient({ transport: http(s.h.node.url) });
  const hash = await wallet.writeContract({
    ...{ account: account ?? (await s.unlocked()), address, abi: parseAbi([`function ${call}`] as never), chain: null },
    ...{ functionName: call.slice(0, call.indexOf("(")) as never, args: args as never },
  });
  await s.h.chain.waitForTransactionReceipt({ hash });
}

test("only an accepted mint takes a burned id over, and no other id of its batch", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc1155", owner);
  const batch = await s.mint({ contract, tokens: [1n, 2n, 3n].map((tokenId) => ({ to: owner, uri, tokenId })) });
  await s.ended(batch);
  const burn = { chain: "goerli", contract, tokens: [{ tokenId: 1n }] };
  await s.ended(await carryOut(s.services, s.caller, await burnTokens(s.services, s.caller, burn)));
  const claimed = async () => {
    const { rows } = await s.h.database.pool.query(
      "SELECT token_id::int AS id FROM service.token_claim WHERE root_id = $1 ORDER BY 1",
      [batch.request.id],
    );
    return rows.map(({ id }) => id);
  };
  const again = { contract, tokens: [{ to: randomAddress(), uri, tokenId: 1n }] };
  await planOperation(s.services, s.caller, await mintTokens(s.services, s.caller, { chain: "goerli", ...again }));
  expect(await claimed()).toEqual([1, 2, 3]);
  await s.ended(await s.mint(again));
  expect(await claimed()).toEqual([2, 3]);
  await expect(s.mint({ contract, tokens: [{ to: owner, uri, tokenId: 2n }] })).rejects.toThrow(
    batch.request.transactionHash,
  );
});

/** A request by its legacy body, and what the chain says of it. */
interface Repeated {
  ask(): Promise<Answer>;
  holds(): Promise<boolean>;
  /** How others take its effect away; absent where nobody can, or the chain does not tell. */
  undo?(): Promise<unknown>;
  /** What makes the chain refuse it in the block that it is mined in, and puts that right again. */
  refuse: { ahead(): Promise<unknown>; after(): Promise<unknown> };
}

const one = { metadata_uri: uri, token_id: 7 };
const other = "ipfs://other";
const at = async (type: "erc721" | "erc1155") => {
  const body = { chain: "goerli", name: "Product", symbol: "PRD", owner_address: await s.unlocked(), type };
  const made = await post("/v0/contracts", { ...body, metadata_updatable: true }, randomUUID());
  await final(made.body.transaction_hash);
  const { contract_address: contract } = (await api.get(`/v0/contracts/${made.body.transaction_hash}?chain=goerli`))
    .body;
  return { chain: "goerli", contract_address: String(contract) as Address };
};
const post = (path: string, body: unknown, key?: string) =>
  api.send("POST", path, body, key ? { "Idempotency-Key": key } : {});
const read = <T>(address: Address, functionName: string, args: readonly unknown[] = []) =>
  s.h.chain
    .readContract({ ...{ address, abi: productReads, functionName: functionName as never, args: args as never } })
    .then((value) => value as T | null)
    .catch(() => null);
const ownerOf = async (address: Address, id: bigint) => (await read<Address>(address, "ownerOf", [id]))?.toLowerCase();

/** Mined before whatever waits. */
async function ahead(account: Address, address: Address, call: string, args: readonly unknown[] = []): Promise<void> {
  await createWalletClient({ transport: http(s.h.node.url) }).writeContract({
    ...{ account, address, abi: parseAbi([`function ${call}`] as never), chain: null },
    ...{ functionName: call.slice(0, call.indexOf("(")) as never, args: args as never },
    ...{ gas: 500_000n, maxFeePerGas: parseGwei("2000"), maxPriorityFeePerGas: parseGwei("100") },
  });
}
const admin = async () => ((await s.h.chain.request({ method: "eth_accounts" } as never)) as Address[])[0] ?? "0x";
const operatorPaused: Repeated["refuse"] = {
  ahead: async () => await ahead(await admin(), s.h.operator?.address ?? "0x", "pause()"),
  after: () => s.h.pauseOperator(false),
};
const factoryPaused: Repeated["refuse"] = {
  ahead: async () => await ahead(await admin(), s.h.factory.address, "pause()"),
  after: () => s.h.pauseFactory(false),
};

/** Runs the worker until the transaction of an answer is in a state. */
async function final(sent: unknown, states: readonly string[] = ["finalized"], services = s.services): Promise<void> {
  const { rows } = await s.services.pool.query(
    `SELECT r.intent_id AS id FROM service.attempt a JOIN service.nonce_reservation r USING (chain_id, addr, nonce)
     WHERE a.hash = decode($1, 'hex')`,
    [String(sent).slice(2)],
  );
  await s.h.until(services, rows[0].id, states);
}

const requests: Record<string, () => Promise<Repeated>> = {
  "POST /v0/contracts/collections": async () => {
    const body = request();
    const before = (await s.h.announced()).length;
    const holds = async () => (await s.h.announced()).length > before;
    return { ask: () => post("/v0/contracts/collections", body), holds, refuse: factoryPaused };
  },
  "PUT /v0/contracts/collections": async () => {
    const owner = await s.unlocked();
    const made = await post("/v0/contracts/collections", request({ owner_address: owner }), randomUUID());
    await final(made.body.transaction_hash);
    const found = await api.get(`/v0/contracts/${made.body.transaction_hash}?chain=goerli`);
    const contract = String(found.body["contract_address"]) as Address;
    const info = async () => {
      const { runtimeConfig } = await s.h.chain.readContract({
        ...{ address: contract, abi: collectionAbi, functionName: "getInfo" as const },
      });
      return runtimeConfig;
    };
    const send = createWalletClient({ transport: http(s.h.node.url) });
    const undo = async () => {
      const args = [{ ...(await info()), royaltiesBps: 1n }] as const;
      const call = { address: contract, abi: collectionAbi, functionName: "updateConfig" as const, args };
      await s.h.chain.waitForTransactionReceipt({
        hash: await send.writeContract({ account: owner, chain: null, ...call }),
      });
    };
    const role = [keccak256(stringToHex("ADMIN_ROLE")), s.h.relayer];
    return {
      ask: () =>
        api.put("/v0/contracts/collections", { chain: "goerli", contract_address: contract, royalties_share: 750 }),
      holds: async () => (await info()).royaltiesBps === 750n,
      undo,
      refuse: {
        ahead: () => ahead(owner, contract, "revokeRole(bytes32,address)", role),
        after: () => owned(contract, "grantRole(bytes32,address)", role),
      },
    };
  },
  "POST /v0/contracts": async () => {
    const body = { chain: "goerli", name: `Again ${randomUUID()}`, symbol: "AGN", owner_address: await s.unlocked() };
    const operator = { address: s.h.operator?.address ?? "0x", abi: productOperatorAbi, fromBlock: 0n } as const;
    const made = () => s.h.chain.getContractEvents({ ...operator, eventName: "ProductDeployed" });
    const before = (await made()).length;
    return {
      ask: () => post("/v0/contracts", body),
      holds: async () => (await made()).length > before,
      refuse: operatorPaused,
    };
  },
  "PUT /v0/contracts": async () => {
    const place = await at("erc721");
    const bps = () => read<bigint>(place.contract_address, "royaltiesBasisPoints");
    const update = "update((string,bool,bool,uint256,address),(bytes32,address[],bool)[],bool)";
    return {
      ask: () => api.put("/v0/contracts", { ...place, royalties_share: 750 }),
      holds: async () => (await bps()) === 750n,
      undo: () => owned(place.contract_address, update, [["", true, true, 1n, randomAddress()], [], false]),
      refuse: operatorPaused,
    };
  },
  "POST /v0/mints/customizable": async () => {
    const place = await at("erc721");
    const owner = await s.unlocked();
    return {
      ask: () => post("/v0/mints/customizable", { ...place, ...one, mint_to_address: owner }),
      holds: async () => (await ownerOf(place.contract_address, 7n)) === owner,
      undo: () => owned(place.contract_address, "burn(uint256)", [7n]),
      refuse: operatorPaused,
    };
  },
  "POST /v0/mints/customizable/batch": async () => {
    const place = await at("erc1155");
    const owner = await s.unlocked();
    const tokens = [1, 2].map((id) => ({ mint_to_address: owner, token_id: id, metadata_uri: uri, quantity: id * 3 }));
    return {
      ask: () => post("/v0/mints/customizable/batch", { ...place, tokens }),
      holds: async () => (await read<bigint>(place.contract_address, "totalSupply", [2n])) === 6n,
      undo: () =>
        owned(place.contract_address, "burnBatch(uint256[],uint256[])", [
          [1n, 2n],
          [3n, 6n],
        ]),
      refuse: operatorPaused,
    };
  },
  "POST /v0/mints/easy/urls": async () => {
    const to = randomAddress();
    const body = { chain: "goerli", name: "Easy", description: "", file_url: "ipfs://x", mint_to_address: to };
    const held = parseAbi(["function balanceOf(address owner) view returns (uint256)"]);
    const easy = {
      address: s.h.operator?.easyContract ?? "0x",
      abi: held,
      functionName: "balanceOf",
      args: [to],
    } as const;
    return {
      ask: () => post("/v0/mints/easy/urls", body),
      holds: async () => (await s.h.chain.readContract(easy)) === 1n,
      refuse: operatorPaused,
    };
  },
  "PUT /v0/mints/customizable": async () => {
    const place = await at("erc721");
    await minted(place);
    return {
      ask: () => api.put("/v0/mints/customizable", { ...place, token_id: 7, metadata_uri: other }),
      holds: async () => (await read<string>(place.contract_address, "tokenURI", [7n])) === other,
      undo: () => owned(place.contract_address, "updateTokenUri(uint256,string,bool)", [7n, "ipfs://own", false]),
      refuse: operatorPaused,
    };
  },
  "DELETE /v0/mints/customizable": async () => {
    const place = await at("erc721");
    await minted(place);
    return {
      ask: () => api.send("DELETE", "/v0/mints/customizable", { ...place, token_id: 7 }),
      holds: async () => (await ownerOf(place.contract_address, 7n)) === undefined,
      undo: () => minted(place, other),
      refuse: operatorPaused,
    };
  },
  "POST /v0/mints/transfers": async () => {
    const place = await at("erc721");
    await minted(place);
    const accounts = (await s.h.chain.request({ method: "eth_accounts" } as never)) as Address[];
    const to = (accounts[2] ?? "0x").toLowerCase() as Address;
    const back = "transferFrom(address,address,uint256)";
    return {
      ask: () => post("/v0/mints/transfers", { ...place, token_id: 7, transfer_to_address: to }),
      holds: async () => (await ownerOf(place.contract_address, 7n)) === to,
      undo: async () => await owned(place.contract_address, back, [to, await s.unlocked(), 7n], to),
      refuse: operatorPaused,
    };
  },
};

async function minted(place: { contract_address: Address }, metadata_uri = uri): Promise<void> {
  const body = { ...place, ...one, metadata_uri, mint_to_address: await s.unlocked() };
  const { body: answer } = await post("/v0/mints/customizable", body, randomUUID());
  await final(answer.transaction_hash);
}

async function hashOf({ ask }: Repeated): Promise<string> {
  const { status, body, text } = await ask();
  expect(status, text).toBe(200);
  return body.transaction_hash;
}

test.each(Object.entries(requests))(
  "%s again is right by the chain, whatever became of the first",
  async (_name, make) => {
    const case_ = await make();
    const sent = async () => await s.h.chain.getTransactionCount({ address: s.h.relayer });
    const before = await sent();
    await s.h.chain.setAutomine(false);
    const hash = await hashOf(case_);
    expect([await hashOf(case_), await case_.holds()], "waiting").toEqual([hash, false]);
    await s.h.chain.setAutomine(true);
    await s.h.chain.mine({ blocks: 1 });
    await final(hash, ["mined"], patientWorker);
    expect([await hashOf(case_), await case_.holds()], "mined").toEqual([hash, true]);
    await final(hash);
    expect([await hashOf(case_), await case_.holds(), await sent()], "confirmed").toEqual([hash, true, before + 1]);
    if (case_.undo) {
      await case_.undo();
      const undone = await sent();
      expect(await case_.holds()).toBe(false);
      const again = await hashOf(case_);
      expect(again, "undone").not.toBe(hash);
      await final(again);
      expect([await hashOf(case_), await case_.holds(), await sent()]).toEqual([again, true, undone + 1]);
    }

    const doomed = await make();
    await s.h.chain.setAutomine(false);
    const failed = await hashOf(doomed);
    await s.h.pooled(s.services, failed as Hex);
    await doomed.refuse.ahead();
    await s.h.chain.mine({ blocks: 1 });
    await s.h.chain.setAutomine(true);
    await final(failed, ["failed_onchain"]);
    await doomed.refuse.after();
    // What went ahead paid a fee that the next transactions are not to take for the market's.
    await s.h.chain.mine({ blocks: 30 });
    expect(await doomed.holds()).toBe(false);
    const instead = await hashOf(doomed);
    expect(instead, "failed").not.toBe(failed);
    await final(instead);
    expect([await hashOf(doomed), await doomed.holds()]).toEqual([instead, true]);
  },
);

test.each(["/v0/files", "/v0/metadata/directory"])(
  "POST %s again has the same content, whatever became of the first",
  async (path) => {
    const text = JSON.stringify({ name: randomUUID() });
    const ask = (given = text) => {
      const form = new FormData();
      const [field, name] = path === "/v0/files" ? ["file", "a.json"] : ["metadata_files", "0.json"];
      form.append(field ?? "", new Blob([given], { type: "application/json" }), name);
      return send(api.base + path, { key: api.key, body: form });
    };
    const urlOf = ({ body }: Answer) => new URL(body.ipfs_url ?? body.metadata_directory_ipfs_url).pathname;
    // Refused for the half of it that came.
    if (path !== "/v0/files") expect((await ask(text.slice(0, -1))).status).toBe(422);
    const together = await Promise.all([ask(), ask()]);
    const again = await ask();
    expect(new Set([...together, again].map(urlOf)).size).toBe(1);
    const shown = await fetch(api.base + urlOf(again) + (path === "/v0/files" ? "" : "/0.json"));
    expect(await shown.text()).toBe(text);
  },
);
