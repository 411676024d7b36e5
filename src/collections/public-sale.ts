import { sql } from "kysely";
import { LRUCache } from "lru-cache";
import { type Address, maxUint256 } from "viem";
import { entryBound } from "../cache-bounds.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { watchChanges } from "../endable-stream.ts";
import { gatewayPath, parseIpfsUri } from "../metadata/read/ipfs-location.ts";
import type { Services } from "../services.ts";
import { KeptReadings, type Reader } from "./kept-readings.ts";
import { callsOfSale, readSaleOf } from "./read-sale.ts";
import { readTogether } from "./read-together.ts";

/** What a minting page shows: as the contract says it at one block, or two. */
export interface PublicSale {
  chain: Chain;
  /** Lower case. */
  address: Address;
  name: string;
  symbol: string;
  maxSupply: bigint;
  minted: bigint;
  /** Of the tokens that are not minted, those that only an admin mints. */
  reserved: bigint;
  /** What of its takings is still in the contract. */
  balanceWei: bigint;
  tokensPerMint: bigint;
  publicPriceWei: bigint;
  presalePriceWei: bigint;
  /** The sale is open in blocks *after* this second of the chain's clock; null: never. */
  publicStart: bigint | null;
  presaleStart: bigint | null;
  baseUri: string;
  /** Who it belongs to, and where the money of its sale goes for ever; with checksums, as `royaltiesAddress`. */
  owner: Address;
  treasury: Address;
  /** The share of later sales that its metadata asks for (ERC-2981). */
  royaltiesBps: bigint;
  royaltiesAddress: Address;
  /** Nobody can change the metadata any more. */
  metadataFrozen: boolean;
  /** Nobody can change a price any more. */
  pricesFrozen: boolean;
  /** The newest block, and the time of it in Unix seconds, of a local chain that of the next one: the clock that decides. */
  block: bigint;
  blockTime: bigint;
  /** When the chain was asked, in Unix milliseconds of this machine's clock: up to a minute ago. */
  readAtMs: number;
  /** This installation holds its presale list. */
  deployedHere: boolean;
  preview: CollectionPreview | null;
}

/** What a token of the collection looks like, from metadata that this installation holds. */
export interface CollectionPreview {
  name: string | null;
  description: string | null;
  /** Path on this server, `/ipfs/…`; null: no picture on IPFS. */
  image: string | null;
}

/**
 * Of a quiet sale nothing changes without a sign but what its admin does from a wallet of theirs: sets prices and starts, for
 * which the contract has no event, and withdraws. A page shows that a minute late at most, and the contract itself gives back
 * what is paid beyond the price and refuses what is below it.
 */
const times = { keptMs: 2_000, mostKeptMs: 60_000, oldestMs: 600_000, signsMs: 1_000 };
const rules = {
  ...times,
  isSame: (one: PublicSale, other: PublicSale) => isSameSale(one, other) && one.balanceWei === other.balanceWei,
};
/** Calls of a local chain cost nothing. */
const localRules = { ...rules, keptMs: 500, mostKeptMs: 5_000, signsMs: 250 };
const most = 1_000;

/** Of one process. */
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
 * The state of a collection's sale, for whoever asks: of a collection that was deployed here, or of any contract with
 * the same interface.
 *
 * @param wanted `patience`: so many times as old a quiet sale may be. `sinceBlock`: it is to have what happened in that block.
 * @throws ServiceError `chain_not_supported`, `not_found` for an address without such a contract, `service_unavailable`;
 *   what the reader's `admit` throws.
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
      // A transaction on a collection of this installation costs its sender the chain's gas: a hundred readings.
      isPaid: ({ deployedHere }) => deployedHere && chain.relay.coinMicroEur > 0n,
    },
  });
}

/** Whether a visitor sees no difference; the block alone is none. */
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

/** A token's document shows what the tokens are; what was said while they were hidden was said of all of them. */
async function previewOf(
  services: Services,
  { baseURI, prerevealTokenURI }: { baseURI: string; prerevealTokenURI: string },
): Promise<CollectionPreview | null> {
  const hidden = await readPreview(services, prerevealTokenURI);
  const token = baseURI === "" ? null : await readPreview(services, `${baseURI}0`);
  return token ? { ...token, description: hidden?.description ?? token.description } : hidden;
}

const mostBytes = 65_536;
/** Content has one address for ever; what is not here today may be tomorrow. */
const previews = new LRUCache<string, CollectionPreview>(entryBound(1_000));

/** @param uri of one token's metadata, as the contract has it. @returns null for metadata that is not here. */
export async function readPreview(services: Services, uri: string): Promise<CollectionPreview | null> {
  const known = previews.get(uri);
  if (known) return known;
  const file = (await find(services, uri))?.content;
  if (file?.kind !== "file" || file.size > mostBytes) return null;
  const pieces: Uint8Array[] = [];
  try {
    for await (const piece of file.stream()) pieces.push(piece);
  } catch {
    return null;
  }
  const preview = await parsePreview(services, Buffer.concat(pieces).toString("utf8"));
  if (preview) previews.set(uri, preview);
  return preview;
}

/** The content that a URI names, and where it is; of what is not here, the first place that the URI may mean. */
async function find({ content }: Services, uri: string) {
  const places = parseIpfsUri(uri);
  for (const place of places ?? []) {
    const found = await content.resolveAnywhere(place.cid, place.path).catch(() => null);
    if (found) return { content: found, place };
  }
  return places && { content: null, place: places[0] };
}

async function parsePreview(services: Services, text: string): Promise<CollectionPreview | null> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== "object" || value === null) return null;
  const { name, description, image, image_url: other } = value as Record<string, unknown>;
  const short = (member: unknown) => (typeof member === "string" && member ? member.slice(0, 1_000) : null);
  const picture = typeof (image ?? other) === "string" ? await find(services, String(image ?? other)) : null;
  return {
    name: short(name),
    description: short(description),
    image: picture && `/ipfs/${gatewayPath(picture.place)}`,
  };
}

/** Whether this installation deployed a collection that stands at the address. */
async function isOwnCollection(services: Services, chain: Chain, address: Address): Promise<boolean> {
  const { own } = keptOf(services);
  const name = `${chain.id}:${address}`;
  if (own.has(name)) return true;
  const { rows } = await sql`SELECT FROM service.collection_allowlist
    WHERE chain_id = ${chain.id} AND address = ${toBytes(address)} AND stood LIMIT 1`.execute(services.db);
  if (rows.length > 0) own.set(name, true);
  return rows.length > 0;
}

/** So long after its block's time the index is taken to be at work; a chain whose blocks come later has no such signs. */
const freshSeconds = 120;
/** Where the index tells of a contract, only what has no event is older than its signs; else everything may be. */
const keptMs = { told: 60_000, untold: 5_000 };

/**
 * What the database knows of a collection's sale: movements of its tokens and changes of their metadata that the index has,
 * and updates of ours that a block has. One statement by keys of indexes, for all who watch it and for all collections of a
 * chain that are looked at together.
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
 * The state of a collection's sale, now and after each change, until half an hour has passed or nobody listens any more.
 * All who watch one collection in one process cost its node as much as one of them.
 *
 * @param watcher whose streams are counted together: an account, or `address:…` of a client without a key.
 * @param admit is called before each further reading: what it refuses is read a second later. The first reading was admitted
 *   with the operation.
 * @throws ServiceError as `getPublicSale`; with too many streams what `StreamPermits` throws. A node that is silent later
 *   ends nothing: the state is told when it answers again.
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
