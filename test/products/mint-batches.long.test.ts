import { type Address, createWalletClient, http, parseAbi, parseAbiItem, parseEther } from "viem";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { carryOut } from "../../src/products/carry-out.ts";
import { createContract } from "../../src/products/create-contract.ts";
import { getRequest, type ProductRequest } from "../../src/products/get-request.ts";
import { mintTokens } from "../../src/products/mint-tokens.ts";
import { cancelIntent } from "../../src/relay/requests/cancel-intent.ts";
import { explainIntent } from "../../src/relay/requests/explain-intent.ts";
import { createRelayMemory } from "../../src/relay/track/loop-steps.ts";
import { submitRound } from "../../src/relay/track/submit-loop.ts";
import type { Services } from "../../src/services.ts";
import { goerli } from "../relay/harness.ts";
import { loseRows } from "../relay/lost-rows.ts";
import { relayRound } from "../relay/round.ts";
import { patient, slowness, wait } from "../setup/wait.ts";
import { ProductScenario, productReads, randomAddress, uri } from "./scenario.ts";

// Mints of one contract that wait at once share a transaction; each has an outcome of its own.

vi.setConfig({ testTimeout: 240_000 * slowness });

let s: ProductScenario;
/** Blocks are final ten blocks later. */
let services: Services;
beforeAll(async () => {
  s = await ProductScenario.start();
  services = s.h.process({ FINALITY_GOERLI: "10" });
});
afterAll(async () => s?.stop());

const query = async (text: string, values: unknown[] = []) => (await s.h.database.pool.query(text, values)).rows;

interface Wanted {
  to: Address;
  tokenId: bigint;
}

let lastId = 1_000n;
function wanted(count: number): Wanted[] {
  return Array.from({ length: count }, () => {
    lastId += 1n;
    return { to: randomAddress(), tokenId: lastId };
  });
}

/** A contract whose owner may mint too. */
async function contractOf(): Promise<Address> {
  const owner = await s.unlocked();
  const operation = await createContract(s.services, s.caller, {
    ...{ chain: "goerli", name: `Shared ${lastId}`, symbol: "SHR", type: "erc721", ownerAddress: owner },
    ...{ metadataUpdatable: true, roles: [{ role: "mint", addresses: [owner], freeze: false }] },
  });
  const done = await carryOut(s.services, s.caller, operation);
  await s.ended(done);
  return done.request.contract;
}

async function ask(contract: Address, token: Wanted, more: { together: boolean; key?: string }) {
  const input = { chain: "goerli", contract, tokens: [{ ...token, uri }], together: more.together };
  return await carryOut(
    services,
    s.caller,
    await mintTokens(services, s.caller, { ...input, idempotencyKey: more.key ?? `id-${token.tokenId}` }),
  );
}

/** Mints that were accepted while the wallet was closed, and may go now. @returns their ids, in the order of the tokens. */
async function waiting(contract: Address, tokens: readonly Wanted[], together = true): Promise<string[]> {
  await query("UPDATE service.relayer_wallet SET state = 'reconcile'");
  for (const token of tokens)
    await expect(ask(contract, token, { together })).rejects.toMatchObject({ code: "service_unavailable" });
  const rows = await query("SELECT id, idem_key FROM service.intent WHERE idem_key = ANY ($1)", [
    tokens.map(({ tokenId }) => `client:id-${tokenId}`),
  ]);
  const ids = tokens.map(
    ({ tokenId }) => rows.find(({ idem_key }) => idem_key === `client:id-${tokenId}`).id as string,
  );
  const client = await s.h.database.pool.connect();
  try {
    await client.query("SET session_replication_role = replica");
    await client.query(
      "UPDATE service.intent SET state = 'queued', updated_at = updated_at - interval '1 minute' WHERE id = ANY ($1)",
      [ids],
    );
    await client.query("RESET session_replication_role");
  } finally {
    client.release();
  }
  await query("UPDATE service.relayer_wallet SET state = 'open'");
  return ids;
}

/** Gives nonces to what waits, and does something before the next block, which has all of it. */
async function inOneBlock(before: () => Promise<void>): Promise<void> {
  await s.h.chain.setAutomine(false);
  try {
    await submit();
    await before();
    await s.h.chain.mine({ blocks: 1 });
  } finally {
    await s.h.chain.setAutomine(true);
  }
}

const submit = () => submitRound(services, goerli(services), createRelayMemory());
const read = (id: string): Promise<ProductRequest> => getRequest(services, s.caller, { id });
const states = (ids: readonly string[]) => Promise.all(ids.map(async (id) => (await read(id)).state));
const ownerOf = async (address: Address, tokenId: bigint) =>
  (
    await s.h.chain.readContract({ address, abi: productReads, functionName: "ownerOf", args: [tokenId] })
  ).toLowerCase();

/** Rounds, and blocks between them, until each of the newest tries is in one of the states. */
async function settled(ids: readonly string[], ends: readonly string[]): Promise<void> {
  const memory = createRelayMemory();
  const all = (now: readonly string[]) => now.every((state) => ends.includes(state));
  const look = async () => {
    await relayRound(services, goerli(services), memory);
    const now = await states(ids);
    if (!all(now)) await s.h.chain.mine({ blocks: 1 });
    return now;
  };
  await wait(`states of ${ends.join(", ")}`, look, { until: all });
}

async function budgets() {
  const [row] = await query("SELECT sum(reserved)::text AS reserved, sum(spent)::text AS spent FROM service.budget");
  return row as { reserved: string; spent: string };
}

test("mints that wait at once are one transaction, and cost less than those that go alone", async () => {
  const contract = await contractOf();
  const alone = wanted(4);
  const apart = await waiting(contract, alone, false);
  const together = wanted(8);
  const nonces = async () => await s.h.chain.getTransactionCount({ address: s.h.relayer, blockTag: "pending" });
  const first = await nonces();
  await submit();
  expect(await nonces()).toBe(first + 4);
  await settled(apart, ["finalized"]);
  const ids = await waiting(contract, together);
  await submit();
  expect(await nonces()).toBe(first + 5);
  const hashes = await Promise.all(ids.map(async (id) => (await read(id)).transactionHash));
  expect(new Set(hashes).size).toBe(1);
  expect(await states(ids)).toEqual(["in_flight", ...Array(7).fill("batched")]);
  await settled(ids, ["finalized"]);
  for (const { to, tokenId } of [...alone, ...together]) expect(await ownerOf(contract, tokenId)).toBe(to);
  const requests = await Promise.all(ids.map(read));
  expect(requests.map(({ transactionHash }) => transactionHash)).toEqual(hashes);
  expect(new Set(requests.map(({ block }) => block)).size).toBe(1);
  const gasOf = async (id: string) => {
    const { transactionHash: hash } = await read(id);
    return (await s.h.chain.getTransactionReceipt({ hash: hash ?? "0x" })).gasUsed;
  };
  const single = await gasOf(apart[1] ?? "");
  const shared = (await gasOf(ids[0] ?? "")) / 8n;
  expect(Number(shared) / Number(single)).toBeLessThan(0.85);
  // What was set aside is spent or given back, and what was spent is what the chain took.
  expect((await budgets()).reserved).toBe("0");
  const lines = (await explainIntent(s.h.database.db, ids[1] ?? ""))?.join("\n");
  expect(lines).toContain(`in the transaction of ${ids[0]}`);
});

test("what the chain refuses of a batch takes none of the others down, its lead neither", async () => {
  const contract = await contractOf();
  const tokens = wanted(5);
  const taken = [tokens[0], tokens[2]] as Wanted[];
  const ids = await waiting(contract, tokens);
  await inOneBlock(async () => {
    // Its owner takes two of the ids first, for a higher fee.
    const wallet = createWalletClient({ transport: http(s.h.node.url) });
    for (const { tokenId } of taken)
      await wallet.writeContract({
        ...{ account: await s.unlocked(), address: contract, chain: null },
        abi: parseAbi(["function mintToCaller(address caller, uint256 tokenId, string tokenURI) returns (uint256)"]),
        ...{ functionName: "mintToCaller", args: [await s.unlocked(), tokenId, "ipfs://other"] },
        ...{ gas: 500_000n, maxFeePerGas: parseEther("0.0001"), maxPriorityFeePerGas: parseEther("0.00005") },
      });
  });
  await settled(ids, ["finalized", "failed_onchain"]);
  expect(await states(ids)).toEqual(["failed_onchain", "finalized", "failed_onchain", "finalized", "finalized"]);
  for (const [index, { to, tokenId }] of tokens.entries())
    expect(await ownerOf(contract, tokenId)).toBe(taken.includes(tokens[index] as Wanted) ? await s.unlocked() : to);
  for (const index of [0, 2]) {
    const { error, transactionHash } = await read(ids[index] ?? "");
    expect(error).toContain("already minted");
    expect(transactionHash).toBe((await read(ids[1] ?? "")).transactionHash);
  }
  expect((await budgets()).reserved).toBe("0");
});

test("a batch that fails as a whole is no fault of its mints: each of them is repeated alone", async () => {
  const contract = await contractOf();
  const tokens = wanted(4);
  const ids = await waiting(contract, tokens);
  await inOneBlock(async () => {
    expect(await states(ids)).toEqual(["in_flight", "batched", "batched", "batched"]);
    const [admin] = (await s.h.chain.request({ method: "eth_accounts" } as never)) as Address[];
    // The operator is stopped in the same block, before the batch.
    await createWalletClient({ transport: http(s.h.node.url) }).writeContract({
      ...{ account: admin as Address, address: s.h.operator?.address as Address, chain: null },
      ...{ abi: parseAbi(["function pause()"]), functionName: "pause" },
      ...{ gas: 200_000n, maxFeePerGas: parseEther("0.0001"), maxPriorityFeePerGas: parseEther("0.00005") },
    });
  });
  const shared = (await read(ids[1] ?? "")).transactionHash ?? "0x";
  expect((await s.h.chain.getTransactionReceipt({ hash: shared })).status).toBe("reverted");
  await s.h.pauseOperator(false);
  await settled(ids, ["finalized"]);
  for (const { to, tokenId } of tokens) expect(await ownerOf(contract, tokenId)).toBe(to);
  expect(new Set((await Promise.all(ids.map(read))).map(({ transactionHash }) => transactionHash)).size).toBe(4);
  const [first] = await query(
    "SELECT state, hold_reason FROM service.intent_history WHERE intent_id = $1 ORDER BY id DESC OFFSET 1 LIMIT 1",
    [ids[0]],
  );
  expect(first).toEqual({ state: "nonce_conflict", hold_reason: "batch_failed" });
  expect((await budgets()).reserved).toBe("0");
});

test("after a reorganisation every mint of a batch is mined and confirmed again", async () => {
  const contract = await contractOf();
  const tokens = wanted(3);
  const ids = await waiting(contract, tokens);
  const snapshot = await s.h.chain.snapshot();
  await submit();
  const memory = createRelayMemory();
  await expect
    .poll(async () => {
      await relayRound(services, goerli(services), memory);
      return await states(ids);
    }, patient)
    .toEqual(["confirmed", "confirmed", "confirmed"]);
  await s.h.chain.revert({ id: snapshot });
  await s.h.chain.mine({ blocks: 3 });
  await expect
    .poll(async () => {
      await relayRound(services, goerli(services), memory);
      return await states(ids);
    }, patient)
    .not.toContain("confirmed");
  await settled(ids, ["finalized"]);
  for (const { to, tokenId } of tokens) expect(await ownerOf(contract, tokenId)).toBe(to);
  const blocks = await Promise.all(ids.map(async (id) => (await read(id)).block));
  const receipt = await s.h.chain.getTransactionReceipt({ hash: (await read(ids[0] ?? "")).transactionHash ?? "0x" });
  expect(blocks).toEqual([receipt.blockNumber, receipt.blockNumber, receipt.blockNumber]);
});

test("where the lead is cancelled the others go alone, once that is final", async () => {
  const contract = await contractOf();
  const tokens = wanted(3);
  const ids = await waiting(contract, tokens);
  await inOneBlock(async () => {
    await expect(cancelIntent(services, s.caller.accountId, ids[1] ?? "")).rejects.toThrow("with other mints");
    await cancelIntent(services, s.caller.accountId, ids[0] ?? "");
    await relayRound(services, goerli(services), createRelayMemory());
  });
  await settled(ids, ["finalized", "cancelled"]);
  expect(await states(ids)).toEqual(["cancelled", "finalized", "finalized"]);
  const lines = (await explainIntent(s.h.database.db, ids[1] ?? ""))?.join("\n");
  expect(lines).toContain(`goes alone: nothing came of the transaction of ${ids[0]}`);
  const [, second, third] = await Promise.all(ids.map(read));
  expect(second?.transactionHash).not.toBe(third?.transactionHash);
  await expect(ownerOf(contract, tokens[0]?.tokenId ?? 0n)).rejects.toThrow();
  expect(await ownerOf(contract, tokens[1]?.tokenId ?? 0n)).toBe(tokens[1]?.to);
  expect((await budgets()).reserved).toBe("0");
});

test.each(["mempool", "block"])("a batch in a %s whose rows were lost is minted once", async (place) => {
  const contract = await contractOf();
  const tokens = wanted(3);
  const ids = await waiting(contract, tokens);
  if (place === "mempool") await s.h.chain.setAutomine(false);
  const before = await s.sent();
  let sent = before;
  try {
    await submit();
    sent = await s.sent();
    await loseRows(s.h.database.pool, ids, s.h.relayer);
    const after = s.h.process({ FINALITY_GOERLI: "10" });
    services = after;
    const again = () => Promise.allSettled(tokens.map((token) => ask(contract, token, { together: true })));
    // One after the other: the lead may have taken its nonce back when the others ask.
    for (const token of tokens) await Promise.allSettled([ask(contract, token, { together: true })]);
    await s.h.chain.setAutomine(true);
    await s.h.chain.mine({ blocks: 12 });
    await settled(ids, ["finalized"]);
    await again();
  } finally {
    await s.h.chain.setAutomine(true);
  }
  for (const { to, tokenId } of tokens) expect(await ownerOf(contract, tokenId)).toBe(to);
  expect(await states(ids)).toEqual(["finalized", "finalized", "finalized"]);
  // Nothing was sent a second time, to be refused there.
  expect(await s.sent()).toBe(sent);
  const event = parseAbiItem("event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)");
  const minted = await s.h.chain.getLogs({ address: contract, event, strict: true, fromBlock: 0n });
  const mintedIds = minted.map(({ args }) => args.tokenId).sort((a, b) => Number(a - b));
  expect(mintedIds).toEqual(tokens.map(({ tokenId }) => tokenId));
  expect(new Set(minted.map(({ transactionHash }) => transactionHash)).size).toBe(sent - before);
});

test("a batch is put together once", async () => {
  const contract = await contractOf();
  const ids = await waiting(contract, wanted(4));
  await submit();
  const change = (column: string, value: string) =>
    query(`UPDATE service.intent SET ${column} = ${value}, version = version + 1 WHERE id = ANY ($1)`, [ids]);
  await expect(change("batch_call", "'\\x01'")).rejects.toThrow("put together once");
  await expect(change("batch_lead", "NULL")).rejects.toThrow("put together once");
  await settled(ids, ["finalized"]);
});
