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

/** Milliseconds that an answer is given again. With the page's own second a counter is less than two seconds old. */
const keptMs = 500;
const most = 1_000;

/** Of one process. */
interface Kept {
  sales: LRUCache<string, PublicSale>;
  asking: Map<string, Promise<PublicSale>>;
  clocks: LRUCache<number, { block: bigint; blockTime: bigint }>;
  own: LRUCache<string, true>;
}
const keptBy = new WeakMap<Services, Kept>();

function keptOf(services: Services): Kept {
  const kept = keptBy.get(services) ?? {
    sales: new LRUCache({ ...entryBound(most), ttl: keptMs }),
    asking: new Map(),
    clocks: new LRUCache({ ...entryBound(100), ttl: keptMs }),
    own: new LRUCache(entryBound(most)),
  };
  keptBy.set(services, kept);
  return kept;
}

/**
 * The state of a collection's sale, for whoever asks: of a collection that was deployed here, or of any contract with
 * the same interface. All who ask within half a second get one answer, so that visitors cost the node nothing.
 *
 * @param admit is called before the node is asked for a contract that this installation does not know.
 * @throws ServiceError `chain_not_supported`, `not_found` for an address without such a contract, `service_unavailable`;
 *   what `admit` throws.
 */
export async function getPublicSale(
  services: Services,
  input: { chain: string; collection: Address },
  admit: () => Promise<void>,
): Promise<PublicSale> {
  const chain = findChain(services.chains, input.chain);
  const name = `${chain.id}:${input.collection}`;
  const { sales, asking } = keptOf(services);
  const known = sales.get(name) ?? asking.get(name);
  if (known) return await known;
  const sale = readSale(services, chain, input.collection, admit);
  asking.set(name, sale);
  try {
    const found = await sale;
    sales.set(name, found);
    return found;
  } finally {
    asking.delete(name);
  }
}

async function readSale(
  services: Services,
  chain: Chain,
  address: Address,
  admit: () => Promise<void>,
): Promise<PublicSale> {
  const deployedHere = await isOwnCollection(services, chain, address);
  if (!deployedHere) await admit();
  const [info, minted, reserved, clock] = await askNode(chain, () =>
    Promise.all([
      read(services, chain, address, "getInfo"),
      read(services, chain, address, "totalSupply", true),
      read(services, chain, address, "reserveRemaining"),
      readClock(services, chain),
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
    deployedHere,
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

/** @param fresh for what every mint changes; settings and the reserve may be two seconds old. */
async function read(
  services: Services,
  chain: Chain,
  address: Address,
  functionName: View,
  fresh = false,
): Promise<RpcResult> {
  const data = encodeFunctionData({ abi: collectionAbi, functionName });
  return await services.readerCalls.call(chain, address, data, fresh);
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

async function readClock(services: Services, chain: Chain): Promise<{ block: bigint; blockTime: bigint }> {
  const { clocks } = keptOf(services);
  const known = clocks.get(chain.id);
  if (known) return known;
  // A local chain makes no block until somebody sends a transaction: its clock is the time of the block that would come.
  const tags = chain.local ? ["latest", "pending"] : ["latest"];
  const answers = await services.relay
    .nodes(chain)
    .first((node) => node.ask(tags.map((tag) => ({ method: "eth_getBlockByNumber", params: [tag, false] }))));
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
