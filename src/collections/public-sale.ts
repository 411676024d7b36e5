import { sql } from "kysely";
import { LRUCache } from "lru-cache";
import { type Address, maxUint256 } from "viem";
import { entryBound } from "../cache-bounds.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { watchChanges } from "../endable-stream.ts";
import type { Services } from "../services.ts";
import { type CollectionPreview, previewOf } from "./collection-preview.ts";
import { KeptReadings, type Reader } from "./kept-readings.ts";
import { callsOfSale, readSaleOf } from "./read-sale.ts";
import { readTogether } from "./read-together.ts";

/** The data of a minting page, as the contract returns it at one block, or two. */
export interface PublicSale {
  chain: Chain;
  /** Lower case. */
  address: Address;
  name: string;
  symbol: string;
  maxSupply: bigint;
  minted: bigint;
  /** Of the tokens not minted yet, those that only an admin can mint. */
  reserved: bigint;
  /** The part of its revenue that is still in the contract. */
  balanceWei: bigint;
  tokensPerMint: bigint;
  publicPriceWei: bigint;
  presalePriceWei: bigint;
  /** The sale is open in blocks *after* this second of the chain's clock; null: never. */
  publicStart: bigint | null;
  presaleStart: bigint | null;
  baseUri: string;
  /** The owner, and the treasury that gets the sale's revenue for ever; with checksums, as `royaltiesAddress`. */
  owner: Address;
  treasury: Address;
  /** The royalty on resales that its metadata requests (ERC-2981). */
  royaltiesBps: bigint;
  royaltiesAddress: Address;
  /** Nobody can change the metadata any more. */
  metadataFrozen: boolean;
  /** Nobody can change a price any more. */
  pricesFrozen: boolean;
  /** The newest block and its time in Unix seconds; on a local chain the next block's time, which is what decides. */
  block: bigint;
  blockTime: bigint;
  /** When the chain was read, in Unix milliseconds of this machine's clock: up to a minute ago. */
  readAtMs: number;
  /** This installation has its presale list. */
  deployedHere: boolean;
  preview: CollectionPreview | null;
}

/**
 * In a quiet sale nothing changes without a sign, except by its admin's own wallet: prices and starts, for which the
 * contract has no event, and withdrawals. A page shows such a change at most a minute late, and the contract itself
 * refunds payments above the price and refuses those below it.
 */
const times = { keptMs: 2_000, mostKeptMs: 60_000, oldestMs: 600_000, signsMs: 1_000 };
const rules = {
  ...times,
  isSame: (one: PublicSale, other: PublicSale) => isSameSale(one, other) && one.balanceWei === other.balanceWei,
};
/** Calls to a local chain are free. */
const localRules = { ...rules, keptMs: 500, mostKeptMs: 5_000, signsMs: 250 };
const most = 1_000;

/** The caches of one process. */
interface Kept {
  sales: KeptReadings<PublicSale>;
  local: KeptReadings<PublicSale>;
  own: LRUCache<string, true>;
}
const keptBy = new WeakMap<Services, Kept>();

function keptOf(services: Services): Kept {
  const kept = keptBy.get(services) ?? {
    sales: new KeptReadings(rules),
    local: new KeptReadings(localRules),
    own: new LRUCache(entryBound(most)),
  };
  keptBy.set(services, kept);
  return kept;
}

/**
 * The state of a collection's sale, for any client: of a collection deployed here, or of any contract with the same
 * interface.
 *
 * @param wanted `patience`: multiplies a quiet sale's maximum age. `sinceBlock`: the state has to include this block.
 * @throws ServiceError `chain_not_supported`, `not_found` for an address without such a contract,
 *   `service_unavailable`; any error of the reader's `admit`.
 */
export async function getPublicSale(
  services: Services,
  input: { chain: string; collection: Address },
  { owner, admit }: Reader,
  { patience, sinceBlock = 0n }: { patience?: number; sinceBlock?: bigint } = {},
): Promise<PublicSale> {
  const chain = findChain(services.chains, input.chain);
  const { collection } = input;
  const { sales, local } = keptOf(services);
  return await (chain.local ? local : sales).get(`${chain.id}:${collection}`, {
    admit: () => admit(callsOfSale.together),
    patience,
    suffices: ({ block }) => block >= sinceBlock,
    read: () => readSale(services, chain, collection, { owner, admitMore: admit }),
    signs: {
      look: () => readSigns(services, collection, chain),
      has: (sale, { block }) => sale.block >= block,
      // A transaction on a collection of this installation costs its sender gas, worth a hundred readings.
      isPaid: ({ deployedHere }) => deployedHere && chain.relay.coinMicroEur > 0n,
    },
  });
}

/** Whether a visitor sees no difference; a new block alone is none. */
function isSameSale(one: PublicSale, other: PublicSale): boolean {
  const changing = [
    "minted",
    "reserved",
    "publicPriceWei",
    "presalePriceWei",
    "publicStart",
    "presaleStart",
    "baseUri",
    "owner",
    "royaltiesBps",
    "royaltiesAddress",
    "metadataFrozen",
    "pricesFrozen",
  ] as const;
  return changing.every((name) => one[name] === other[name]);
}

async function readSale(
  services: Services,
  chain: Chain,
  address: Address,
  reader: { owner: string; admitMore: Reader["admit"] },
): Promise<PublicSale> {
  const { info, ...counted } = await readSaleOf(services, chain, address, reader);
  const { deploymentConfig: fixed, runtimeConfig: settings } = info;
  return {
    chain,
    address,
    name: fixed.name,
    symbol: fixed.symbol,
    maxSupply: fixed.maxSupply,
    tokensPerMint: fixed.tokensPerMint,
    publicPriceWei: settings.publicMintPrice,
    presalePriceWei: settings.presaleMintPrice,
    publicStart: settings.publicMintStart === maxUint256 ? null : settings.publicMintStart,
    presaleStart: settings.presaleMintStart === 0n ? null : settings.presaleMintStart,
    baseUri: settings.baseURI,
    owner: fixed.owner,
    treasury: fixed.treasuryAddress,
    royaltiesBps: settings.royaltiesBps,
    royaltiesAddress: settings.royaltiesAddress,
    metadataFrozen: !settings.metadataUpdatable,
    pricesFrozen: settings.publicMintPriceFrozen && settings.presaleMintPriceFrozen,
    ...counted,
    readAtMs: Date.now(),
    deployedHere: await isOwnCollection(services, chain, address),
    preview: await previewOf(services, settings),
  };
}

/** Whether this installation deployed the collection at the address. */
async function isOwnCollection(services: Services, chain: Chain, address: Address): Promise<boolean> {
  const { own } = keptOf(services);
  const name = `${chain.id}:${address}`;
  if (own.has(name)) return true;
  const { rows } = await sql`SELECT FROM service.collection_allowlist
    WHERE chain_id = ${chain.id} AND address = ${toBytes(address)} AND stood LIMIT 1`.execute(services.db);
  if (rows.length > 0) own.set(name, true);
  return rows.length > 0;
}

/** How long after its newest block's time the index counts as current; a chain with slower blocks has no signs. */
const freshSeconds = 120;
/** If the index covers a contract, only data without an event can be older than its signs; else anything can. */
const keptMs = { told: 60_000, untold: 5_000 };

/**
 * What the database knows about a collection's sale: transfers of its tokens and changes of their metadata in the
 * index, and our mined updates. One statement that uses index keys, shared by all watchers and by all collections of a
 * chain that are read at the same time.
 */
const readSigns = readTogether(async (services: Services, addresses: readonly Address[], chain: Chain) => {
  const { rows } = await sql<{ name: string; block: bigint; fresh: boolean; own: boolean }>`
    SELECT concat_ws(' ', c.transfer_count, m.block_number, m.log_index, u.updates, u.block_number) AS name,
      greatest(h.block_number, u.block_number, 0) AS block,
      coalesce(h.block_timestamp > extract(epoch FROM clock_timestamp()) - ${freshSeconds}, false) AS fresh,
      EXISTS (SELECT FROM nft.collections o WHERE o.chain_id = ${chain.id} AND o.address = one.address) AS own
    FROM unnest(${addresses.map(toBytes)}::bytea[]) WITH ORDINALITY AS one (address, place)
    LEFT JOIN nft.heads h ON h.chain_id = ${chain.id}
    LEFT JOIN nft.contracts c ON c.chain_id = ${chain.id} AND c.address = one.address
    LEFT JOIN LATERAL (SELECT block_number, log_index FROM nft.metadata_updates
      WHERE chain_id = ${chain.id} AND contract = one.address ORDER BY block_number DESC, log_index DESC LIMIT 1) m ON true
    LEFT JOIN LATERAL (SELECT count(*) AS updates, max(block_number) AS block_number FROM service.mined_update
      WHERE chain_id = ${chain.id} AND address = one.address) u ON true
    ORDER BY one.place`.execute(services.db);
  return addresses.map((address, place) => {
    const { name, block, fresh, own } = rows[place] ?? { name: "", block: 0n, fresh: false, own: false };
    const isTold = fresh && isIndexed(chain, address, own);
    return { name, block: BigInt(block), mostKeptMs: isTold ? keptMs.told : keptMs.untold };
  });
});

function isIndexed({ indexScope }: Chain, address: Address, own: boolean): boolean {
  if (indexScope === "all") return true;
  return indexScope === "factory" ? own : indexScope.includes(address);
}

/**
 * The state of a collection's sale, now and after each change, until half an hour has passed or the consumer stops
 * listening. All watchers of one collection in one process cost its node as much as one of them.
 *
 * @param watcher the owner whose streams are counted: an account, or `address:…` of a client without a key.
 * @param admit called before each further reading; a refused reading is retried a second later. The first reading was
 *   admitted with the operation.
 * @throws ServiceError as `getPublicSale`; with too many streams, as `StreamPermits`. A node that stops answering later
 *   does not end the stream: the state follows when it answers again.
 */
export async function watchSale(
  services: Services,
  watcher: string,
  input: { chain: string; collection: Address },
  admit: (calls: number) => Promise<void>,
): Promise<AsyncGenerator<PublicSale, void>> {
  const release = services.auth.streams.take(watcher);
  try {
    const first = await getPublicSale(services, input, { owner: watcher, admit: async () => undefined });
    let newest = first;
    const read = async () => {
      newest = await getPublicSale(services, input, { owner: watcher, admit }).catch(() => newest);
      return newest;
    };
    return watchChanges(first, read, { pollMs: 1_000, isSame: isSameSale }, release);
  } catch (error) {
    release();
    throw error;
  }
}
