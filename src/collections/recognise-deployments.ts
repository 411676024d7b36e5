import { sql } from "kysely";
import { type Address, type Hash, parseAbiItem, zeroAddress } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { Chain } from "../chains.ts";
import { toAddress, toBytes, toHash, toHex } from "../relay/bytes.ts";
import type { Services } from "../services.ts";
import { holdsInitCode } from "./init-code.ts";

/** Blocks of one question for logs; more than this is refused by many nodes. */
const maxRange = 2_000n;
/** Requests that one question covers. */
const batch = 100;
const created = parseAbiItem("event OwnershipTransferred(address indexed previousOwner, address indexed newOwner)");

/**
 * Looks through the blocks since the last round for collections that creators deployed with bytes of
 * `prepareDeployment`, and checks that those found before are still on the chain.
 *
 * Every collection announces its first owner when it is created; which request it belongs to is decided by
 * the bytes of its transaction alone.
 *
 * @returns whether there is more to look through now.
 */
export async function recogniseDeployments(services: Services, chain: Chain): Promise<boolean> {
  const [awaited, found] = await Promise.all([listAwaited(services, chain), listFound(services, chain)]);
  if (awaited.length + found.length === 0) return false;
  const head = await readHead(services, chain);
  for (const row of found) await reconsider(services, chain, head, row);
  const [oldest] = awaited;
  if (!oldest) return false;
  const first = oldest.scanned_to + 1n;
  const last = head.number - BigInt(Math.max(chain.confirmations, 1)) + 1n;
  if (first > last) return false;
  const to = last - first < maxRange ? last : first + maxRange - 1n;
  await scan(services, chain, awaited, first, to);
  return to < last;
}

type Row<T extends (...args: never[]) => Promise<readonly unknown[]>> = Awaited<ReturnType<T>>[number];
type AwaitedRow = Row<typeof listAwaited>;
type FoundRow = Row<typeof listFound>;

async function listAwaited(services: Services, chain: Chain) {
  return await services.db
    .selectFrom("service.self_deployment")
    .select(["id", "owner", "init_code_hash", "init_code_bytes", "scanned_to"])
    .where("chain_id", "=", chain.id)
    .where("address", "is", null)
    .where("expires_at", ">", sql<Date>`clock_timestamp()`)
    .orderBy("scanned_to")
    .limit(batch)
    .execute();
}

async function listFound(services: Services, chain: Chain) {
  return await services.db
    .selectFrom("service.self_deployment")
    .select(["id", "block_number", "block_hash"])
    .where("chain_id", "=", chain.id)
    .where("address", "is not", null)
    .where("finalized", "=", false)
    .limit(batch)
    .execute();
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
  for (const log of logs) {
    const transaction = await client.getTransaction({ hash: log.transactionHash });
    const owner = log.args.newOwner.toLowerCase();
    const row = awaited.find(
      (item) =>
        toAddress(item.owner) === owner &&
        holdsInitCode(transaction.input, item.id, {
          hash: toHex(item.init_code_hash),
          sizeBytes: item.init_code_bytes,
        }),
    );
    if (row && (await isCollection(services, chain, log.address))) {
      await note(services, chain, row.id, log.address, log.transactionHash, log.blockNumber, log.blockHash);
    }
  }
  // A request that was made later has looked further already.
  await services.db
    .updateTable("service.self_deployment")
    .set({ scanned_to: toBlock })
    .where(
      "id",
      "in",
      awaited.map((row) => row.id),
    )
    .where("scanned_to", "<", toBlock)
    .execute();
}

/** A contract that only carries the bytes along, and announces an owner, is none. */
async function isCollection(services: Services, chain: Chain, address: Address): Promise<boolean> {
  try {
    const info = await services.rpc(chain).readContract({ address, abi: collectionAbi, functionName: "getInfo" });
    return info.version > 0n;
  } catch {
    return false;
  }
}

async function note(
  services: Services,
  chain: Chain,
  id: string,
  address: Address,
  hash: Hash,
  block: bigint,
  blockHash: Hash,
): Promise<void> {
  await services.db
    .updateTable("service.self_deployment")
    .set({
      address: toBytes(address),
      tx_hash: toBytes(hash),
      block_number: block,
      block_hash: toBytes(blockHash),
    })
    .where("id", "=", id)
    .where("address", "is", null)
    .execute();
  services.log.info({ chain: chain.name, address, hash }, "a creator's own deployment was recognised");
}

/** A found one is final with its block; when the block went away it is awaited again, from there on. */
async function reconsider(services: Services, chain: Chain, head: Head, row: FoundRow): Promise<void> {
  const { block_number: number, block_hash: hash } = row;
  if (number === null || hash === null) return;
  const block = number > head.number ? null : await services.rpc(chain).getBlock({ blockNumber: number });
  const stands = block?.hash === toHash(hash);
  if (stands && number > head.finalized) return;
  await services.db
    .updateTable("service.self_deployment")
    .set(
      stands
        ? { finalized: true }
        : {
            address: null,
            tx_hash: null,
            block_number: null,
            block_hash: null,
            scanned_to: sql<bigint>`least(scanned_to, ${number - 1n})`,
          },
    )
    .where("id", "=", row.id)
    .where("block_hash", "=", hash)
    .execute();
  if (!stands) services.log.warn({ chain: chain.name, id: row.id }, "a recognised deployment left the chain");
}

interface Head {
  number: bigint;
  /** The newest block that cannot be taken back any more. */
  finalized: bigint;
}

/** For nodes that do not know the tag: deeper than any reorganisation a chain of ours has had. */
const depthWithoutTag = 300n;

/** Development chains have no finality worth the name, so there it is the depth of a confirmation. */
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
