import { type Kysely, sql } from "kysely";
import { type Hash, parseAbiItem, zeroAddress } from "viem";
import type { Chain } from "../chains.ts";
import { toAddress, toBytes, toHash, toHex } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import type { Next, Rounds } from "../rounds.ts";
import { loggable } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { type Creation, hashOfCreation, readExactCreation, readTransaction } from "./exact-creation.ts";

/** Blocks per log query; many nodes refuse more. */
const maxRange = 2_000n;
const created = parseAbiItem("event OwnershipTransferred(address indexed previousOwner, address indexed newOwner)");

/**
 * Searches the blocks since the last round for collections that creators deployed with bytes of `prepareDeployment`,
 * and checks that those detected before are still on the chain.
 *
 * Events only say where to look. A collection counts by `readExactCreation`, and by its transaction: the one that the
 * account reported (`reportDeployment`), else the first one by the owner or by a sender that the account named. A third
 * party that sends the same bytes becomes the admin of its creation, which is therefore no account's collection here.
 * Only a report by the account replaces a detected collection.
 *
 * @returns `again`: there are more blocks to search now; `rest`: no deployment is awaited.
 */
export async function detectDeployments(services: Services, chain: Chain): Promise<Next> {
  const [waiting, reported, found] = await Promise.all([
    listAwaited(services.db, chain),
    listReported(services.db, chain),
    listFound(services.db, chain),
  ]);
  if (waiting.length + reported.length + found.length === 0) return "rest";
  const head = await readHead(services, chain);
  const last = head.number - BigInt(Math.max(chain.confirmations, 1)) + 1n;
  for (const row of reported) await each(row, () => followReport(services, chain, row, last));
  for (const row of found) await each(row, () => reconsider(services, chain, head, row));
  // A withdrawn deployment is awaited again.
  const awaited = found.length > 0 ? await listAwaited(services.db, chain) : waiting;
  const [oldest] = awaited;
  if (!oldest) return "soon";
  const first = oldest.scanned_to + 1n;
  if (first > last) return "soon";
  const to = last - first < maxRange ? last : first + maxRange - 1n;
  await scan(services, chain, awaited, first, to);
  return to < last ? "again" : "soon";

  /** A request for which a node no longer has an answer must not hold up the others. */
  async function each({ id }: { id: string }, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) =>
      services.log.warn({ chain: chain.name, id, ...loggable(error) }, "a deployment could not be looked at"),
    );
  }
}

async function scan(
  services: Services,
  chain: Chain,
  awaited: readonly AwaitedRow[],
  fromBlock: bigint,
  toBlock: bigint,
) {
  const client = services.rpc(chain);
  const owners = [...new Set(awaited.map((row) => toAddress(row.owner)))];
  const logs = await client.getLogs({
    event: created,
    args: { previousOwner: zeroAddress, newOwner: owners },
    fromBlock,
    toBlock,
    strict: true,
  });
  const byCode = new Map(awaited.map((row) => [toHex(row.init_code_hash), row] as const));
  // Each transaction once, however many events it has.
  for (const hash of new Set(logs.map((log) => log.transactionHash))) {
    const transaction = await readTransaction(client, hash);
    if (!transaction) throw new Error(`the node of ${chain.name} has events of ${hash}, and no such transaction`);
    const code = hashOfCreation(transaction);
    const row = code && byCode.get(code);
    if (!row) continue;
    const creation = await readExactCreation(client, hash, row);
    if (!creation || creation.block < fromBlock || creation.block > toBlock) continue;
    if (counts(row, creation)) await recordDetected(services, chain, row.id, creation);
    else services.log.warn({ chain: chain.name, id: row.id, hash }, "a third party deployed the bytes of a request");
  }
  await recordScanned(services.db, awaited, toBlock);
}

/** Whether the creation is the creator's own: the sender of the bytes becomes an admin of the collection. */
function counts({ owner, senders, reported_tx }: AwaitedRow, { sender, hash }: Creation): boolean {
  if (reported_tx && toHash(reported_tx) === hash) return true;
  return [owner, ...senders].some((wallet) => toAddress(wallet) === sender);
}

/** The account's report decides, even if another transaction was detected before. */
async function followReport(services: Services, chain: Chain, row: AwaitedRow, last: bigint): Promise<void> {
  if (!row.reported_tx) return;
  const creation = await readExactCreation(services.rpc(chain), toHash(row.reported_tx), row);
  if (creation && creation.block <= last) await recordDetected(services, chain, row.id, creation);
}

/** Records a detected collection. An earlier one stays, unless this is the transaction that the account reported. */
async function recordDetected({ db, log }: Services, chain: Chain, id: string, creation: Creation): Promise<void> {
  const { address, hash, block, blockHash } = creation;
  const { numUpdatedRows } = await db
    .updateTable("service.self_deployment")
    .set({
      address: toBytes(address),
      tx_hash: toBytes(hash),
      block_number: block,
      block_hash: toBytes(blockHash),
      finalized: false,
    })
    .where("id", "=", id)
    .where((eb) => eb.or([eb("address", "is", null), eb("reported_tx", "=", toBytes(hash))]))
    .executeTakeFirst();
  if (numUpdatedRows > 0n)
    log.info({ chain: chain.name, id, address, hash }, "a creator's own deployment was detected");
}

/** A detected collection is final with its block, after one more check; if the block is gone, it is awaited again. */
async function reconsider(services: Services, chain: Chain, head: Head, row: AwaitedRow): Promise<void> {
  const { block_number: number, block_hash: blockHash, tx_hash: hash } = row;
  if (number === null || blockHash === null || hash === null) return;
  const client = services.rpc(chain);
  const block = number > head.number ? null : await client.getBlock({ blockNumber: number });
  const stands = block?.hash === toHash(blockHash);
  if (stands && number > head.finalized) return;
  const context = { chain: chain.name, id: row.id, hash: toHash(hash) };
  const ofBlock = services.db
    .updateTable("service.self_deployment")
    .where("id", "=", row.id)
    .where("block_hash", "=", blockHash);
  // The request is awaited again, from this block on.
  const nothing = {
    ...{ address: null, tx_hash: null, block_number: null, block_hash: null, finalized: false },
    scanned_to: sql<bigint>`least(scanned_to, ${number - 1n})`,
  };
  if (!stands) {
    await ofBlock.set(nothing).execute();
    services.log.warn(context, "a detected deployment left the chain");
  } else if (await isExact(toHash(hash))) {
    await ofBlock.set({ finalized: true }).execute();
  } else {
    await ofBlock.set(nothing).execute();
    services.log.error(context, "incident: what was detected is not the collection of the request; it is withdrawn");
  }

  async function isExact(found: Hash): Promise<boolean> {
    // A node that lost the transaction proves nothing.
    if (!(await readTransaction(client, found))) throw new Error(`no transaction ${found} on the node`);
    const creation = await readExactCreation(client, found, row);
    return creation !== null && creation.address === (row.address && toAddress(row.address));
  }
}

interface Head {
  number: bigint;
  /** The newest final block. */
  finalized: bigint;
}

/** For nodes that do not support the tag: deeper than any reorganisation that our chains have had. */
const depthWithoutTag = 300n;

/** Development chains have no usable finality, so the confirmation depth is used there. */
async function readHead(services: Services, chain: Chain): Promise<Head> {
  const client = services.rpc(chain);
  const [chainId, number, final] = await Promise.all([
    client.getChainId(),
    client.getBlockNumber(),
    chain.local ? null : client.getBlock({ blockTag: "finalized" }).catch(() => null),
  ]);
  if (chainId !== chain.id) throw new Error(`the node of ${chain.name} serves chain ${chainId}, not ${chain.id}`);
  const depth = chain.local ? BigInt(Math.max(chain.confirmations - 1, 0)) : depthWithoutTag;
  return { number, finalized: final?.number ?? (number > depth ? number - depth : 0n) };
}

/** Requests per round. */
const batch = 100;

/** Requests without a detected collection, least recently searched first. */
async function listAwaited(db: Kysely<Database>, chain: Chain) {
  return await select(db, chain)
    .where("address", "is", null)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .orderBy("scanned_to")
    .execute();
}

/** Requests whose account reported another transaction than the detected one, in random order: none blocks others. */
async function listReported(db: Kysely<Database>, chain: Chain) {
  return await select(db, chain)
    .where("reported_tx", "is not", null)
    .where(sql<boolean>`tx_hash IS DISTINCT FROM reported_tx`)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .orderBy(sql`random()`)
    .execute();
}

/** Requests with a detected collection that is not final, in random order. */
async function listFound(db: Kysely<Database>, chain: Chain) {
  return await select(db, chain)
    .where("address", "is not", null)
    .where("finalized", "=", false)
    .orderBy(sql`random()`)
    .execute();
}

type AwaitedRow = Awaited<ReturnType<typeof listAwaited>>[number];

function select(db: Kysely<Database>, chain: Chain) {
  return db
    .selectFrom("service.self_deployment")
    .select(["id", "payload", "owner", "senders", "reported_tx", "init_code_hash", "init_code_bytes", "scanned_to"])
    .select(["address", "tx_hash", "block_number", "block_hash"])
    .where("chain_id", "=", chain.id)
    .limit(batch);
}

/** Newer requests have been searched further already. */
async function recordScanned(db: Kysely<Database>, rows: readonly AwaitedRow[], to: bigint): Promise<void> {
  await db
    .updateTable("service.self_deployment")
    .set({ scanned_to: to })
    .where(
      "id",
      "in",
      rows.map((row) => row.id),
    )
    .where("scanned_to", "<", to)
    .execute();
}

const periods = { local: 500, elsewhere: 12_000 };
const retryMs = 60_000;

/** Searches every chain for deployments by creators' own wallets, until the signal. */
export async function runDetection(services: Services, rounds: Rounds): Promise<void> {
  const run = async (chain: Services["chains"][number]) => {
    const pace = { periodMs: chain.local ? periods.local : periods.elsewhere, rests: true, retryMs };
    const log = services.log.child({ chain: chain.name });
    const failing = "looking for deployments failed";
    await rounds.repeat(() => detectDeployments(services, chain), pace, { log, failing, fields: loggable });
  };
  await Promise.all(services.chains.map(run));
}
