import type pg from "pg";
import { type Address, createPublicClient, http } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { slowness } from "../setup/wait.ts";
import { findBrokenRules } from "./rules.ts";

export interface Verdict {
  contracts: number;
  lost: string[];
  doubled: string[];
  wrongHashes: string[];
  /** Other broken promises, in words. */
  violations: string[];
}

/** One collection that somebody asked for, by a name that nothing else has. */
export interface ExpectedRequest {
  name: string;
  /** Every hash that an answer ever named. */
  hashes: ReadonlySet<string>;
  /** What was changed later, as the chain has to show it. */
  expected?: { royaltiesBps: bigint; publicMintStart: bigint } | null;
}

export interface Scene {
  nodeUrl: string;
  factory: Address;
  /** The paying wallets, lower case. */
  wallets: readonly Address[];
  /** Transactions of others: signed with our keys, or collections that they made. */
  external: ReadonlySet<string>;
  /** Nothing of the run is older. */
  fromBlock: bigint;
  pool: pg.Pool;
  bumpAfterBlocks: number;
  /** What the service says about a hash: an address, or null. */
  lookUp(hash: string): Promise<string | null>;
  /** Whether a transaction's row was lost and the chain never had it either: nothing can be known of it. */
  gone?(hash: string): Promise<boolean>;
  /** Rows were lost on purpose: what the chain had of them is imported. */
  lostRows?: boolean;
}

/** Judges a finished run by what the chain and the tables show, not by what the service says of itself. */
export async function judge(scene: Scene, requests: readonly ExpectedRequest[]): Promise<Verdict> {
  const client = createPublicClient({
    transport: http(scene.nodeUrl, { batch: true, timeout: 30_000 * slowness }),
    ccipRead: false,
  });
  const logs = await client.getContractEvents({
    address: scene.factory,
    abi: collectionFactoryAbi,
    eventName: "CollectionDeployed",
    fromBlock: scene.fromBlock,
    strict: true,
  });
  const standing = new Map<string, { address: Address; info: Awaited<ReturnType<typeof readInfo>> }[]>();
  const readInfo = (address: Address) => client.readContract({ address, abi: collectionAbi, functionName: "getInfo" });
  const ours = logs.filter(({ transactionHash }) => !scene.external.has(transactionHash));
  for (const { args } of ours) {
    const info = await readInfo(args.collection);
    const { name } = info.deploymentConfig;
    standing.set(name, [...(standing.get(name) ?? []), { address: args.collection, info }]);
  }
  const verdict: Verdict = { contracts: ours.length, lost: [], doubled: [], wrongHashes: [], violations: [] };
  for (const { name, hashes, expected } of requests) {
    const found = standing.get(name) ?? [];
    if (found.length === 0) verdict.lost.push(name);
    if (found.length > 1) verdict.doubled.push(name);
    const addresses = found.map(({ address }) => address.toLowerCase());
    for (const hash of hashes) {
      if (await scene.gone?.(hash)) continue;
      const answer = await scene.lookUp(hash);
      if (answer === null || !addresses.includes(answer.toLowerCase())) verdict.wrongHashes.push(hash);
    }
    if (!expected) continue;
    for (const { info } of found)
      for (const [field, value] of Object.entries(expected))
        if (info.runtimeConfig[field as keyof typeof expected] !== value)
          verdict.violations.push(`${name}: the update of ${field} is lost`);
  }
  const asked = new Set(requests.map(({ name }) => name));
  for (const name of standing.keys()) if (!asked.has(name)) verdict.violations.push(`nobody asked for ${name}`);
  verdict.violations.push(
    ...(await findBrokenRules(scene.pool, scene.bumpAfterBlocks, scene.lostRows ? ["imported transactions"] : [])),
  );
  const head = await client.getBlockNumber();
  const done = await scene.pool.query<{ a: string; name: string }>(
    "SELECT encode(predicted_addr, 'hex') a, payload->>'name' AS name FROM service.intent WHERE state IN ('confirmed', 'finalized') AND kind = 'deploy'",
  );
  for (const { a, name } of done.rows)
    if (!(await client.getCode({ address: `0x${a}` })))
      verdict.violations.push(`${name} is called done, and nothing stands there`);
  let strange = 0;
  for (let number = scene.fromBlock; number <= head; number += 1n) {
    const block = await client.getBlock({ blockNumber: number, includeTransactions: true });
    for (const { from, hash } of block.transactions) {
      if (!scene.wallets.includes(from.toLowerCase() as Address) || scene.external.has(hash)) continue;
      const known = await scene.pool.query("SELECT FROM service.attempt WHERE hash = $1", [
        Buffer.from(hash.slice(2), "hex"),
      ]);
      if (known.rowCount === 0) strange += 1;
    }
  }
  if (strange > 0) verdict.violations.push(`mined transactions that were never stored: ${strange}`);
  return verdict;
}
