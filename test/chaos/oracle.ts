import type pg from "pg";
import { type Address, createPublicClient, http } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";

export interface Verdict {
  contracts: number;
  lost: string[];
  doubled: string[];
  wrongHashes: string[];
  /** Other broken promises, in words. */
  violations: string[];
}

export interface Ask {
  name: string;
  /** Every hash that an answer ever named. */
  hashes: Set<string>;
}

/** Judges a finished run by what the chain and the tables show, not by what the service says of itself. */
export async function judge(
  nodeUrl: string,
  factory: Address,
  wallets: readonly Address[],
  pool: pg.Pool,
  asks: readonly Ask[],
  lookUp: (hash: string) => Promise<string | null>,
): Promise<Verdict> {
  const client = createPublicClient({ transport: http(nodeUrl, { batch: true }), ccipRead: false });
  const logs = await client.getContractEvents({
    address: factory,
    abi: collectionFactoryAbi,
    eventName: "CollectionDeployed",
    fromBlock: 0n,
    strict: true,
  });
  const addressesOf = new Map<string, string[]>();
  await Promise.all(
    logs.map(async ({ args }) => {
      const name = await client.readContract({ address: args.collection, abi: collectionAbi, functionName: "name" });
      addressesOf.set(name, [...(addressesOf.get(name) ?? []), args.collection.toLowerCase()]);
    }),
  );
  const verdict: Verdict = { contracts: logs.length, lost: [], doubled: [], wrongHashes: [], violations: [] };
  for (const { name, hashes } of asks) {
    const addresses = addressesOf.get(name) ?? [];
    if (addresses.length === 0) verdict.lost.push(name);
    if (addresses.length > 1) verdict.doubled.push(name);
    for (const hash of hashes) {
      const answer = await lookUp(hash);
      if (answer === null || !addresses.includes(answer.toLowerCase())) verdict.wrongHashes.push(hash);
    }
  }
  const count = async (text: string, values: unknown[] = []) => Number((await pool.query(text, values)).rows[0].n);
  const expect = (what: string, found: number) => found > 0 && verdict.violations.push(`${what}: ${found}`);
  expect("intents not final", await count("SELECT count(*) n FROM service.intent WHERE state <> 'finalized'"));
  expect(
    "gaps between nonces",
    await count(`SELECT coalesce(sum(g), 0) n FROM (
      SELECT max(nonce) - min(nonce) + 1 - count(*) g FROM service.slot GROUP BY chain_id, addr) x`),
  );
  expect("wei still reserved", await count("SELECT count(*) n FROM service.budget WHERE reserved <> 0"));
  expect(
    "intents without a reservation",
    await count(`SELECT count(*) n FROM service.intent i WHERE gen = 0
      AND NOT EXISTS (SELECT FROM service.budget_entry b WHERE b.intent_id = i.id)`),
  );
  expect("adopted transactions", await count("SELECT count(*) n FROM service.attempt WHERE kind = 'adopted'"));
  expect("lanes not open", await count("SELECT count(*) n FROM service.lane WHERE state <> 'open'"));
  const standing = await pool.query(
    "SELECT encode(predicted_addr, 'hex') a, payload->>'name' name, s.mined_block b FROM service.intent i JOIN service.slot s ON s.intent_id = i.id WHERE i.state IN ('confirmed', 'finalized')",
  );
  const head = await client.getBlockNumber();
  for (const { a, name, b } of standing.rows) {
    if (await client.getCode({ address: `0x${a}` })) continue;
    verdict.violations.push(`${name} is called done in block ${b} of ${head}, and nothing stands there`);
  }
  let foreign = 0;
  for (let number = 1n; number <= head; number += 1n) {
    const block = await client.getBlock({ blockNumber: number, includeTransactions: true });
    if (number < 4n) continue;
    for (const transaction of block.transactions) {
      if (!wallets.includes(transaction.from.toLowerCase() as Address) || !transaction.to) continue;
      const known = await count("SELECT count(*) n FROM service.attempt WHERE hash = $1", [
        Buffer.from(transaction.hash.slice(2), "hex"),
      ]);
      if (known === 0 && transaction.input.startsWith("0x2f2ff15d") === false) foreign += 1;
    }
  }
  expect("mined transactions that were never stored", foreign);
  return verdict;
}
