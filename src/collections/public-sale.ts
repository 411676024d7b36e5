import { sql } from "kysely";
import { LRUCache } from "lru-cache";
import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, maxUint256 } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { entryBound } from "../cache-bounds.ts";
import { type Chain, findChain } from "../chains.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import { NodeFault, type RpcResult } from "../rpc/batch.ts";
import type { Services } from "../services.ts";
import { type CollectionPreview, readPreview } from "./collection-preview.ts";
import { KeptReadings, type Reader } from "./kept-readings.ts";

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
  tokensPerMint: bigint;
  publicPriceWei: bigint;
  presalePriceWei: bigint;
  /** The sale is open in blocks *after* this second of the chain's clock; null: never. */
  publicStart: bigint | null;
  presaleStart: bigint | null;
  baseUri: string;
  /** The newest block, and the time of it in Unix seconds, of a local chain that of the next one: the clock that decides. */
  block: bigint;
  blockTime: bigint;
  /** This installation holds its presale list. */
  deployedHere: boolean;
  preview: CollectionPreview | null;
}

/** While something changes, a counter is less than two seconds old with the page's own second, else less than seven. */
const saleRules = { keptMs: 500, mostKeptMs: 5_000, oldestMs: 60_000, isSame: isSameSale };
const clockMs = 500;
const most = 1_000;

/** Of one process. */
interface Kept {
  sales: KeptReadings<PublicSale>;
  clocks: LRUCache<number, { block: bigint; blockTime: bigint }>;
  own: LRUCache<string, true>;
}
const keptBy = new WeakMap<Services, Kept>();

function keptOf(services: Services): Kept {
  const kept = keptBy.get(services) ?? {
    sales: new KeptReadings(saleRules),
    clocks: new LRUCache({ ...entryBound(100), ttl: clockMs }),
    own: new LRUCache(entryBound(most)),
  };
  keptBy.set(services, kept);
  return kept;
}

/**
 * The state of a collection's sale, for whoever asks: of a collection that was deployed here, or of any contract with
 * the same interface.
 *
 * @throws ServiceError `chain_not_supported`, `not_found` for an address without such a contract, `service_unavailable`;
 *   what the reader's `admit` throws.
 */
export async function getPublicSale(
  services: Services,
  input: { chain: string; collection: Address },
  { owner, admit }: Reader,
): Promise<PublicSale> {
  const chain = findChain(services.chains, input.chain);
  const { collection } = input;
  const read = () => readSale(services, chain, collection, owner);
  return await keptOf(services).sales.get(`${chain.id}:${collection}`, admit, read);
}

/** Whether a visitor sees no difference; the block alone is none. */
export function isSameSale(one: PublicSale, other: PublicSale): boolean {
  const changing = [
    "minted",
    "reserved",
    "publicPriceWei",
    "presalePriceWei",
    "publicStart",
    "presaleStart",
    "baseUri",
  ] as const;
  return changing.every((name) => one[name] === other[name]);
}

async function readSale(services: Services, chain: Chain, address: Address, owner: string): Promise<PublicSale> {
  // In one request to the node.
  const [info, minted, reserved, clock] = await askNode(chain, () =>
    Promise.all([
      read(services, chain, address, "getInfo", { owner }),
      read(services, chain, address, "totalSupply", { owner, fresh: true }),
      read(services, chain, address, "reserveRemaining", { owner }),
      readClock(services, chain, owner),
    ]),
  );
  const { deploymentConfig: fixed, runtimeConfig: settings } = decode(info, address, infoOf);
  return {
    chain,
    address,
    name: fixed.name,
    symbol: fixed.symbol,
    maxSupply: fixed.maxSupply,
    minted: decode(minted, address, countOf),
    reserved: decode(reserved, address, countOf),
    tokensPerMint: fixed.tokensPerMint,
    publicPriceWei: settings.publicMintPrice,
    presalePriceWei: settings.presaleMintPrice,
    publicStart: settings.publicMintStart === maxUint256 ? null : settings.publicMintStart,
    presaleStart: settings.presaleMintStart === 0n ? null : settings.presaleMintStart,
    baseUri: settings.baseURI,
    ...clock,
    deployedHere: await isOwnCollection(services, chain, address),
    preview: await readPreview(services, settings.baseURI ? `${settings.baseURI}0` : settings.prerevealTokenURI),
  };
}

/** Whether this installation deployed a collection that stands at the address. */
export async function isOwnCollection(services: Services, chain: Chain, address: Address): Promise<boolean> {
  const { own } = keptOf(services);
  const name = `${chain.id}:${address}`;
  if (own.has(name)) return true;
  const { rows } = await sql`SELECT FROM service.collection_allowlist
    WHERE chain_id = ${chain.id} AND address = ${toBytes(address)} AND stood LIMIT 1`.execute(services.db);
  if (rows.length > 0) own.set(name, true);
  return rows.length > 0;
}

type View = "getInfo" | "totalSupply" | "reserveRemaining";

/** @param reader `fresh` for what every mint changes; settings and the reserve may be two seconds old. */
async function read(
  services: Services,
  chain: Chain,
  address: Address,
  functionName: View,
  reader: { owner: string; fresh?: boolean },
): Promise<RpcResult> {
  const data = encodeFunctionData({ abi: collectionAbi, functionName });
  return await services.readerCalls.call(chain, address, data, reader);
}

/**
 * What an address without such a contract answers is no failure of the node's.
 *
 * @throws ServiceError `not_found`.
 */
function decode<T>(answer: RpcResult, address: Address, run: (data: Hex) => T): T {
  try {
    if ("result" in answer) return run(answer.result as Hex);
  } catch {
    // Bytes of another contract.
  }
  throw new ServiceError("not_found", `there is no collection of this kind at ${address}`, { field: "collection" });
}

const infoOf = (data: Hex) => decodeFunctionResult({ abi: collectionAbi, functionName: "getInfo", data });
const countOf = (data: Hex) => decodeFunctionResult({ abi: collectionAbi, functionName: "totalSupply", data });

async function readClock(
  services: Services,
  chain: Chain,
  owner: string,
): Promise<{ block: bigint; blockTime: bigint }> {
  const { clocks } = keptOf(services);
  const known = clocks.get(chain.id);
  if (known) return known;
  // A local chain makes no block until somebody sends a transaction: its clock is the time of the block that would come.
  const tags = chain.local ? ["latest", "pending"] : ["latest"];
  const answers = await Promise.all(
    tags.map((tag) => services.readerCalls.ask(chain, { method: "eth_getBlockByNumber", params: [tag, false] }, owner)),
  );
  type Header = { number?: unknown; timestamp?: unknown } | null;
  const [header = null, next = header] = answers.map((answer) =>
    "result" in answer ? (answer.result as Header) : null,
  );
  const quantity = (value: unknown): bigint => {
    if (typeof value === "string" && /^0x[0-9a-f]{1,16}$/i.test(value)) return BigInt(value);
    throw new NodeFault("the newest block has no number or time");
  };
  const clock = { block: quantity(header?.number), blockTime: quantity((next ?? header)?.timestamp) };
  clocks.set(chain.id, clock);
  return clock;
}
