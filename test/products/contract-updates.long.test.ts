import { createWalletClient, http, keccak256, parseAbi, parseEther, stringToHex, toFunctionSelector } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { toBytes } from "../../src/db/bytes.ts";
import { type CarriedOut, carryOut } from "../../src/products/carry-out.ts";
import { updateContract } from "../../src/products/update-contract.ts";
import { Rounds } from "../../src/rounds.ts";
import type { Services } from "../../src/services.ts";
import { runRelay } from "../../src/transactions/track/run-relay.ts";
import { FaultyEndpoint } from "./faulty-endpoint.ts";
import { ProductScenario, randomAddress } from "./scenario.ts";

const settings = parseAbi([
  "struct Runtime { string baseURI; bool metadataUpdatable; bool tokensTransferable; uint256 royaltiesBps; address royaltiesAddress; }",
  "struct Roles { bytes32 role; address[] addresses; bool frozen; }",
  "function update(Runtime newConfig, Roles[] rolesAddresses, bool isRevokeNFTPortPermissions)",
  "function baseURI() view returns (string)",
  "function royaltiesBasisPoints() view returns (uint256)",
  "function royaltiesAddress() view returns (address)",
]);

let s: ProductScenario;
beforeAll(async () => {
  s = await ProductScenario.start();
});
afterAll(async () => s?.stop());

async function change(contract: string, changes: object, services: Services = s.services): Promise<CarriedOut> {
  const operation = await updateContract(services, s.caller, { chain: "goerli", contract, ...changes });
  return await carryOut(services, s.caller, operation);
}

async function settingsOf(address: `0x${string}`) {
  const read = { address, abi: settings } as const;
  return {
    baseUri: await s.h.chain.readContract({ ...read, functionName: "baseURI" }),
    bps: await s.h.chain.readContract({ ...read, functionName: "royaltiesBasisPoints" }),
    receiver: (await s.h.chain.readContract({ ...read, functionName: "royaltiesAddress" })).toLowerCase(),
  };
}

test("what an update changed is read from the product again, which announces no change of its royalties", async () => {
  const contract = await s.contract();
  await s.h.database.pool.query(
    `INSERT INTO service.contract_metadata (chain_id, address, fetched_block, next_attempt_at)
     VALUES ($1, $2, 0, 'infinity')`,
    [s.h.node.id, toBytes(contract)],
  );
  const done = await change(contract, { royaltiesBps: 750n });
  await s.h.until(s.services, done.request.id, ["finalized"]);
  const { rows } = await s.h.database.pool.query(
    `SELECT c.wanted_block = r.mined_block AS is_wanted, c.next_attempt_at <= clock_timestamp() AS is_due
     FROM service.contract_metadata c, service.nonce_reservation r WHERE c.address = $1 AND r.intent_id = $2`,
    [toBytes(contract), done.request.id],
  );
  expect(rows).toEqual([{ is_wanted: true, is_due: true }]);
  expect((await settingsOf(contract)).bps).toBe(750n);
});

test("one faulty endpoint of three writes nothing into the settings, where two have to agree", async () => {
  const contract = await s.contract();
  const before = await settingsOf(contract);
  const selector = toFunctionSelector("royaltiesAddress()");
  const faulty = await FaultyEndpoint.withAddress(s.h.node.url, selector, randomAddress());
  try {
    const services = s.h.process({
      RPC_URL_GOERLI: [faulty.url, s.h.proxy.url, s.h.node.url].join(","),
      RPC_QUORUM_GOERLI: "2",
    });
    const done = await change(contract, { baseUri: "ipfs://a/" }, services);
    await s.h.until(services, done.request.id, ["finalized"]);
    expect(await settingsOf(contract)).toEqual({ ...before, baseUri: "ipfs://a/" });
    // It also falsifies what was asked for, which the others say stands.
    const receiver = randomAddress();
    const second = await change(contract, { royaltiesAddress: receiver }, services);
    await s.h.until(services, second.request.id, ["finalized"]);
    expect(await settingsOf(contract)).toEqual({ ...before, baseUri: "ipfs://a/", receiver: receiver.toLowerCase() });
  } finally {
    await faulty.stop();
  }
});

test("updates that come together wait for one another to be mined, and all hold", async () => {
  const contract = await s.contract();
  const services = s.h.process({ CONFIRMATIONS_GOERLI: "12" });
  const stop = new AbortController();
  const relay = runRelay(services, new Rounds(stop.signal));
  try {
    const receiver = randomAddress();
    // A client that is told to come again does, as it may be on a busy machine: the same request is the same update.
    const repeated = async (changes: Parameters<typeof change>[1]): ReturnType<typeof change> =>
      await change(contract, changes, services).catch(async (error: { code?: unknown }) => {
        if (error.code !== "service_unavailable") throw error;
        return await repeated(changes);
      });
    const sent = await Promise.all([
      repeated({ baseUri: "ipfs://together/" }),
      repeated({ royaltiesBps: 321n }),
      repeated({ royaltiesAddress: receiver }),
    ]);
    for (const { request } of sent) await s.h.untilState(request.id, ["mined"]);
    const all = { baseUri: "ipfs://together/", bps: 321n, receiver: receiver.toLowerCase() };
    expect(await settingsOf(contract)).toEqual(all);
    await s.h.chain.mine({ blocks: 12 });
    for (const { request } of sent) await s.h.untilState(request.id, ["confirmed", "finalized"]);
  } finally {
    stop.abort();
    await relay;
  }
});

test("what an update under way takes away for good is refused before anything is spent", async () => {
  const lists = (freeze: boolean) => ({ roles: [{ role: "mint" as const, addresses: [randomAddress()], freeze }] });
  const cases = [
    [{ freezeMetadata: true }, { baseUri: "ipfs://late/" }, "metadata_frozen"],
    [{ exit: true }, { royaltiesBps: 1n }, "value_error"],
    [lists(true), lists(false), "value_error"],
  ] as const;
  for (const [first, second, code] of cases) {
    const contract = await s.contract();
    await s.h.chain.setAutomine(false);
    try {
      await change(contract, first);
      const accepted = async () => (await s.h.database.pool.query("SELECT FROM service.intent")).rowCount;
      const before = await accepted();
      await expect(change(contract, second)).rejects.toMatchObject({ code, message: expect.stringMatching(/earlier/) });
      expect(await accepted()).toBe(before);
    } finally {
      await s.h.chain.setAutomine(true);
      await s.h.chain.mine({ blocks: 1 });
    }
  }
});

test("an endpoint that is behind the last update does not take it back", async () => {
  const contract = await s.contract();
  const before = await s.h.chain.getBlockNumber();
  await s.ended(await change(contract, { royaltiesBps: 111n }));
  const behind = await FaultyEndpoint.behind(s.h.node.url, before);
  try {
    const services = s.h.process({ RPC_URL_GOERLI: [behind.url, s.h.node.url].join(",") });
    await s.ended(await change(contract, { baseUri: "ipfs://b/" }, services));
    expect(await settingsOf(contract)).toMatchObject({ baseUri: "ipfs://b/", bps: 111n });
  } finally {
    await behind.stop();
  }
});

test("what the owner changes while an update waits for funds stays changed", async () => {
  const owner = await s.unlocked();
  const contract = await s.contract("erc721", owner);
  const mine = randomAddress();
  await s.h.chain.setBalance({ address: s.h.relayer, value: 0n });
  await expect(change(contract, { baseUri: "ipfs://a/" })).rejects.toMatchObject({ code: "service_unavailable" });
  const wallet = createWalletClient({ transport: http(s.h.node.url) });
  const own = {
    baseURI: "",
    metadataUpdatable: true,
    tokensTransferable: true,
    royaltiesBps: 900n,
    royaltiesAddress: mine,
  };
  const hash = await wallet.writeContract({
    ...{
      account: owner,
      address: contract,
      abi: settings,
      functionName: "update",
      args: [own, [], false],
      chain: null,
    },
  });
  await s.h.chain.waitForTransactionReceipt({ hash });
  await s.h.chain.setBalance({ address: s.h.relayer, value: parseEther("1000") });
  const { rows } = await s.h.database.pool.query(
    "SELECT id FROM service.intent WHERE kind = 'contract_update' ORDER BY seq DESC LIMIT 1",
  );
  await s.h.until(s.services, rows[0].id, ["finalized"]);
  expect(await settingsOf(contract)).toEqual({ baseUri: "ipfs://a/", bps: 900n, receiver: mine.toLowerCase() });
});

test("a request for roles that was accepted is held where they are not signed, has no nonce, and goes on where they are", async () => {
  const contract = await s.contract();
  // Accepted while nobody signs.
  const away = s.h.process({
    ...{ SIGNER_URL: "http://127.0.0.1:9", SIGNER_TOKEN: "x".repeat(43), RELAYER_ADDRESS_GOERLI: s.h.relayer },
  });
  const to = randomAddress();
  const refused = await change(contract, { roles: [{ role: "mint", addresses: [to], freeze: false }] }, away).catch(
    (error: unknown) => error,
  );
  const { deployment: id } = (refused as { details: { deployment: string } }).details;
  const strict = s.h.process({ SIGN_ROLES_GOERLI: "off" });
  const held = async () => {
    const { rows } = await s.h.database.pool.query(
      `SELECT hold_reason, (SELECT count(*)::int FROM service.nonce_reservation r WHERE r.intent_id = i.id) AS nonces
       FROM service.intent i WHERE id = $1`,
      [id],
    );
    return rows[0] as unknown;
  };
  await s.h.until(strict, id, ["held"]);
  expect(await held()).toEqual({ hold_reason: "roles", nonces: 0 });
  await s.h.until(s.services, id, ["finalized"]);
  const role = keccak256(stringToHex("MINT_ROLE"));
  const abi = parseAbi(["function hasRole(bytes32, address) view returns (bool)"]);
  expect(await s.h.chain.readContract({ address: contract, abi, functionName: "hasRole", args: [role, to] })).toBe(
    true,
  );
});
