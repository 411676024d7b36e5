import { type Address, createWalletClient, http, parseAbi, parseAbiItem, parseEther } from "viem";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { explainIntent } from "../../src/transactions/accept/explain-intent.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { patient, slowness } from "../setup/wait.ts";
import { loseRows } from "../transactions/lost-rows.ts";
import { FaultyEndpoint } from "./faulty-endpoint.ts";
import { ProductScenario } from "./scenario.ts";
import { WaitingMints, type Wanted } from "./waiting-mints.ts";

// Mints of one contract that wait at once share a transaction; each has an outcome of its own.

vi.setConfig({ testTimeout: 240_000 * slowness });

let s: ProductScenario;
let mints: WaitingMints;
beforeAll(async () => {
  s = await ProductScenario.start();
  mints = new WaitingMints(s);
});
afterAll(async () => s?.stop());

test("mints that wait at once are one transaction, and cost less than those that go alone", async () => {
  const contract = await mints.contract();
  const alone = mints.wanted(4);
  const apart = await mints.waiting(contract, alone, false);
  const together = mints.wanted(8);
  const nonces = async () => await s.h.chain.getTransactionCount({ address: s.h.relayer, blockTag: "pending" });
  const first = await nonces();
  await mints.submit();
  expect(await nonces()).toBe(first + 4);
  await mints.settled(apart, ["finalized"]);
  const ids = await mints.waiting(contract, together);
  await mints.submit();
  expect(await nonces()).toBe(first + 5);
  const hashes = await Promise.all(ids.map(async (id) => (await mints.read(id)).transactionHash));
  expect(new Set(hashes).size).toBe(1);
  expect(await mints.states(ids)).toEqual(["in_flight", ...Array(7).fill("batched")]);
  await mints.settled(ids, ["finalized"]);
  for (const { to, tokenId } of [...alone, ...together]) expect(await mints.ownerOf(contract, tokenId)).toBe(to);
  const requests = await Promise.all(ids.map((id) => mints.read(id)));
  expect(requests.map(({ transactionHash }) => transactionHash)).toEqual(hashes);
  expect(new Set(requests.map(({ block }) => block)).size).toBe(1);
  const gasOf = async (id: string) => {
    const { transactionHash: hash } = await mints.read(id);
    return (await s.h.chain.getTransactionReceipt({ hash: hash ?? "0x" })).gasUsed;
  };
  const single = await gasOf(apart[1] ?? "");
  const shared = (await gasOf(ids[0] ?? "")) / 8n;
  expect(Number(shared) / Number(single)).toBeLessThan(0.85);
  // What was set aside is spent or given back, and what was spent is what the chain took.
  expect((await mints.budgets()).reserved).toBe("0");
  const lines = (await explainIntent(s.h.database.db, ids[1] ?? ""))?.join("\n");
  expect(lines).toContain(`in the transaction of ${ids[0]}`);
});

test("a mint waits for others of its contract that are still being simulated, and they share its transaction", async () => {
  const contract = await mints.contract();
  let isSlow = false;
  const endpoint = await FaultyEndpoint.start(s.h.node.url, {
    ask: async ({ params }) => {
      const [call] = (params ?? []) as { gas?: string }[];
      // Each list of simulations takes its time, and the first one has one of them.
      if (isSlow && call?.gas !== undefined) await new Promise((done) => setTimeout(done, 15));
    },
  });
  try {
    mints.services = s.h.process({ FINALITY_GOERLI: "10", RPC_URL_GOERLI: endpoint.url });
    const ids = await mints.waiting(contract, mints.wanted(5));
    isSlow = true;
    await mints.submit();
    expect(new Set(await mints.hashes(ids)).size).toBe(1);
    await mints.settled(ids, ["finalized"]);
  } finally {
    mints.process();
    await endpoint.stop();
  }
});

test("what members set aside is their lead's, also of an hour that has ended since", async () => {
  const contract = await mints.contract();
  const ids = await mints.waiting(contract, mints.wanted(4));
  // One of them was accepted an hour before.
  await mints.query(
    `WITH moved AS (
       UPDATE service.budget_entry SET period = period - interval '1 hour' WHERE intent_id = $1 AND scope LIKE 'chain:%'
       RETURNING scope, period, amount),
     less AS (
       UPDATE service.budget b SET reserved = b.reserved - m.amount FROM moved m
       WHERE b.scope = m.scope AND b.period = m.period + interval '1 hour' RETURNING b.allowed)
     INSERT INTO service.budget AS b (scope, period, allowed, reserved)
       SELECT m.scope, m.period, l.allowed, m.amount FROM moved m, less l
       ON CONFLICT (scope, period) DO UPDATE SET reserved = b.reserved + excluded.reserved`,
    [ids[2]],
  );
  const open = async () =>
    await mints.query(
      `SELECT b.scope, b.period::text, b.reserved = coalesce(sum(e.amount) FILTER (WHERE NOT e.settled), 0) AS equal
       FROM service.budget b LEFT JOIN service.budget_entry e USING (scope, period) GROUP BY b.scope, b.period`,
    );
  await mints.submit();
  expect(new Set(await mints.hashes(ids)).size).toBe(1);
  const rows = await open();
  expect(rows.filter(({ scope }) => scope.startsWith("chain:")).length).toBeGreaterThan(1);
  expect(rows.filter(({ equal }) => !equal)).toEqual([]);
  expect(
    await mints.query("SELECT 1 FROM service.budget_entry WHERE intent_id = ANY ($1) AND NOT settled", [ids.slice(1)]),
  ).toEqual([]);
  await mints.settled(ids, ["finalized"]);
  expect((await mints.budgets()).reserved).toBe("0");
});

test("what the chain refuses of a batch takes none of the others down, its lead neither", async () => {
  const contract = await mints.contract();
  const tokens = mints.wanted(5);
  const taken = [tokens[0], tokens[2]] as Wanted[];
  const ids = await mints.waiting(contract, tokens);
  await mints.inOneBlock(async () => {
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
  await mints.settled(ids, ["finalized", "failed_onchain"]);
  expect(await mints.states(ids)).toEqual(["failed_onchain", "finalized", "failed_onchain", "finalized", "finalized"]);
  for (const [index, { to, tokenId }] of tokens.entries())
    expect(await mints.ownerOf(contract, tokenId)).toBe(
      taken.includes(tokens[index] as Wanted) ? await s.unlocked() : to,
    );
  for (const index of [0, 2]) {
    const { error, transactionHash } = await mints.read(ids[index] ?? "");
    expect(error).toContain("already minted");
    expect(transactionHash).toBe((await mints.read(ids[1] ?? "")).transactionHash);
  }
  expect((await mints.budgets()).reserved).toBe("0");
});

test("a batch that fails as a whole is no fault of its mints: each of them is repeated alone", async () => {
  const contract = await mints.contract();
  const tokens = mints.wanted(4);
  const ids = await mints.waiting(contract, tokens);
  await mints.inOneBlock(async () => {
    expect(await mints.states(ids)).toEqual(["in_flight", "batched", "batched", "batched"]);
    const [admin] = (await s.h.chain.request({ method: "eth_accounts" } as never)) as Address[];
    // The operator is stopped in the same block, before the batch.
    await createWalletClient({ transport: http(s.h.node.url) }).writeContract({
      ...{ account: admin as Address, address: s.h.operator?.address as Address, chain: null },
      ...{ abi: parseAbi(["function pause()"]), functionName: "pause" },
      ...{ gas: 200_000n, maxFeePerGas: parseEther("0.0001"), maxPriorityFeePerGas: parseEther("0.00005") },
    });
  });
  const shared = (await mints.read(ids[1] ?? "")).transactionHash ?? "0x";
  expect((await s.h.chain.getTransactionReceipt({ hash: shared })).status).toBe("reverted");
  await s.h.pauseOperator(false);
  await mints.settled(ids, ["finalized"]);
  for (const { to, tokenId } of tokens) expect(await mints.ownerOf(contract, tokenId)).toBe(to);
  expect(
    new Set((await Promise.all(ids.map((id) => mints.read(id)))).map(({ transactionHash }) => transactionHash)).size,
  ).toBe(4);
  const [first] = await mints.query(
    "SELECT state, hold_reason FROM service.intent_history WHERE intent_id = $1 ORDER BY id DESC OFFSET 1 LIMIT 1",
    [ids[0]],
  );
  expect(first).toEqual({ state: "nonce_conflict", hold_reason: "batch_failed" });
  expect((await mints.budgets()).reserved).toBe("0");
});

test("after a reorganisation every mint of a batch is mined and confirmed again", async () => {
  const contract = await mints.contract();
  const tokens = mints.wanted(3);
  const ids = await mints.waiting(contract, tokens);
  const snapshot = await s.h.chain.snapshot();
  await mints.submit();
  const memory = createRelayMemory();
  await expect
    .poll(async () => {
      await mints.round(memory);
      return await mints.states(ids);
    }, patient)
    .toEqual(["confirmed", "confirmed", "confirmed"]);
  await s.h.chain.revert({ id: snapshot });
  await s.h.chain.mine({ blocks: 3 });
  await expect
    .poll(async () => {
      await mints.round(memory);
      return await mints.states(ids);
    }, patient)
    .not.toContain("confirmed");
  await mints.settled(ids, ["finalized"]);
  for (const { to, tokenId } of tokens) expect(await mints.ownerOf(contract, tokenId)).toBe(to);
  const blocks = await Promise.all(ids.map(async (id) => (await mints.read(id)).block));
  const receipt = await s.h.chain.getTransactionReceipt({
    hash: (await mints.read(ids[0] ?? "")).transactionHash ?? "0x",
  });
  expect(blocks).toEqual([receipt.blockNumber, receipt.blockNumber, receipt.blockNumber]);
});

test("where the lead is cancelled the others go alone, once that is final", async () => {
  const contract = await mints.contract();
  const tokens = mints.wanted(3);
  const ids = await mints.waiting(contract, tokens);
  await mints.inOneBlock(async () => {
    await expect(cancelIntent(mints.services, s.caller.accountId, ids[1] ?? "")).rejects.toThrow("with other mints");
    await cancelIntent(mints.services, s.caller.accountId, ids[0] ?? "");
    await mints.round();
  });
  await mints.settled(ids, ["finalized", "cancelled"]);
  expect(await mints.states(ids)).toEqual(["cancelled", "finalized", "finalized"]);
  const lines = (await explainIntent(s.h.database.db, ids[1] ?? ""))?.join("\n");
  expect(lines).toContain(`goes alone: nothing came of the transaction of ${ids[0]}`);
  const [, second, third] = await Promise.all(ids.map((id) => mints.read(id)));
  expect(second?.transactionHash).not.toBe(third?.transactionHash);
  await expect(mints.ownerOf(contract, tokens[0]?.tokenId ?? 0n)).rejects.toThrow();
  expect(await mints.ownerOf(contract, tokens[1]?.tokenId ?? 0n)).toBe(tokens[1]?.to);
  expect((await mints.budgets()).reserved).toBe("0");
});

test.each(["mempool", "block"])("a batch in a %s whose rows were lost is minted once", async (place) => {
  const contract = await mints.contract();
  const tokens = mints.wanted(3);
  const ids = await mints.waiting(contract, tokens);
  if (place === "mempool") await s.h.chain.setAutomine(false);
  const before = await s.sent();
  let sent = before;
  try {
    await mints.submit();
    sent = await s.sent();
    await loseRows(s.h.database.pool, ids, s.h.relayer);
    mints.process();
    const again = () => Promise.allSettled(tokens.map((token) => mints.ask(contract, token, { together: true })));
    // One after the other: the lead may have taken its nonce back when the others ask.
    for (const token of tokens) await Promise.allSettled([mints.ask(contract, token, { together: true })]);
    await s.h.chain.setAutomine(true);
    await s.h.chain.mine({ blocks: 12 });
    await mints.settled(ids, ["finalized"]);
    await again();
  } finally {
    await s.h.chain.setAutomine(true);
  }
  for (const { to, tokenId } of tokens) expect(await mints.ownerOf(contract, tokenId)).toBe(to);
  expect(await mints.states(ids)).toEqual(["finalized", "finalized", "finalized"]);
  // Nothing was sent a second time, to be refused there.
  expect(await s.sent()).toBe(sent);
  const event = parseAbiItem("event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)");
  const minted = await s.h.chain.getLogs({ address: contract, event, strict: true, fromBlock: 0n });
  const mintedIds = minted.map(({ args }) => args.tokenId).sort((a, b) => Number(a - b));
  expect(mintedIds).toEqual(tokens.map(({ tokenId }) => tokenId));
  expect(new Set(minted.map(({ transactionHash }) => transactionHash)).size).toBe(sent - before);
});

test("a batch is put together once", async () => {
  const contract = await mints.contract();
  const ids = await mints.waiting(contract, mints.wanted(4));
  await mints.submit();
  const change = (column: string, value: string) =>
    mints.query(`UPDATE service.intent SET ${column} = ${value}, version = version + 1 WHERE id = ANY ($1)`, [ids]);
  await expect(change("batch_call", "'\\x01'")).rejects.toThrow("put together once");
  await expect(change("batch_lead", "NULL")).rejects.toThrow("put together once");
  await mints.settled(ids, ["finalized"]);
});
