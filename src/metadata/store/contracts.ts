import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Hex, PublicClient } from "viem";
import { toHex } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { claimRows, dueRows, isHeld, noLease, type WorkQueue } from "../../db/lease.ts";
import type { MetadataStatus } from "../../db/tables/metadata.ts";
import { type Fault, isFault, mayPass, retryAfterMs } from "../../outbound/fault.ts";
import { Busy } from "../../outbound/host-limits.ts";
import {
  type ContractCalls,
  decodeLabel,
  decodeRoyalty,
  decodeText,
  type PinnedBlock,
  royaltyCall,
} from "../read/call-contract.ts";
import { parseDocument, textOf, urlOf } from "../read/parse-document.ts";
import { readDocument, type Sources } from "../read/read-document.ts";
import { ownCopy } from "../read/read-token.ts";
import { isFungible, isSilence } from "./is-fungible.ts";

const selectors: Record<"name" | "symbol" | "contractUri", Hex> = {
  name: "0x06fdde03",
  symbol: "0x95d89b41",
  contractUri: "0xe8a3d485",
};

interface ContractJob {
  chainId: number;
  address: Buffer;
  leaseId: string;
  attempts: number;
  /** The result of the previous reading. */
  fungible: boolean | null;
}

type Row = Pick<ContractJob, "address" | "attempts" | "fungible">;

const leaseSeconds = 60;
/** Contracts rarely announce changes: read again after an hour, and after twice as long each time nothing changed. */
const againAfter = { firstMs: 3_600_000, doublings: 10, mostMs: 30 * 86_400_000 };
/** Delay when the node is behind the block of an announcement. */
const behindMs = 2_000;
const queueOf = (chainId: number): WorkQueue => ({
  table: "service.contract_metadata",
  scope: { chain_id: chainId },
  key: ["address"],
  due: "next_attempt_at",
  attempts: "attempts",
  named: true,
});

/** Claims up to `limit` contracts whose name, symbol and document are due. */
export async function claimContracts(db: Kysely<Database>, chainId: number, limit: number): Promise<ContractJob[]> {
  const leaseId = randomUUID();
  const queue = queueOf(chainId);
  const lease = { seconds: leaseSeconds, id: leaseId };
  const claim = claimRows<Row>(queue, dueRows(queue, limit), lease, sql`m.address, m.attempts, m.fungible`);
  const { rows } = await claim.execute(db);
  return rows.map((row) => ({ chainId, leaseId, ...row }));
}

/** Everything but the chain that reading a contract needs. */
export interface ContractSources {
  calls: ContractCalls;
  sources: Sources;
  /** Base URL of our own copies. */
  cachedBase: string;
  signal: AbortSignal;
}

/**
 * Reads a contract's name, symbol, royalty (ERC-2981) and its own document (ERC-7572 `contractURI`). Many contracts
 * have none of them, which is a result too; a document that cannot be read does not affect the rest. An earlier result
 * stays until a new one replaces it: a call that fails now may fail because of the node.
 */
export async function readContract(
  db: Kysely<Database>,
  client: PublicClient,
  block: PinnedBlock,
  job: ContractJob,
  from: ContractSources,
): Promise<void> {
  const address = toHex(job.address) as Hex;
  const call = (data: Hex) => from.calls.call(client, block, address, data);
  const [name, symbol, uri, royalty] = await Promise.all([
    call(selectors.name),
    call(selectors.symbol),
    readContractUri(client, block, address, from.calls),
    call(royaltyCall),
  ]);
  const fungible = await isFungible(db, call, job);
  const document = await readContractDocument(uri, from);
  const again = [name, symbol, uri, royalty].find(isSilence);
  const passing = document.fault && mayPass(document.fault.fault) ? document.fault : null;
  const retry = again ?? passing;
  const delayMs = retry && retryAfterMs(retry, job.attempts);
  const told = {
    ...(isFault(name) && document.name === null ? {} : { name: labelOf(name) ?? document.name }),
    ...(isFault(symbol) ? {} : { symbol: labelOf(symbol) }),
    ...(isFault(royalty) ? {} : { royalty_bps: decodeRoyalty(royalty.data) }),
    ...(isFault(uri) ? {} : { contract_uri: document.uri }),
    ...(fungible === null ? {} : { fungible }),
    ...(isFault(uri) || passing ? {} : document.columns),
  };
  const now = sql<Date>`clock_timestamp()`;
  const isSame = sql.join(
    [
      sql`m.fetched_at IS NOT NULL`,
      ...Object.entries(told).map(([column, value]) => sql`m.${sql.ref(column)} IS NOT DISTINCT FROM ${value}`),
    ],
    sql` AND `,
  );
  const unchanged = sql<number>`CASE WHEN ${isSame} THEN least(m.unchanged + 1, ${againAfter.doublings}) ELSE 0 END`;
  const regular = sql`least(${againAfter.firstMs} * power(2, ${unchanged}), ${againAfter.mostMs}) * (0.9 + 0.2 * random())`;
  const isBehind = sql`m.wanted_block > ${block.number}`;
  const pauseMs = sql`CASE WHEN ${isBehind} THEN ${behindMs} ELSE coalesce(${delayMs ?? null}::float8, ${regular}) END`;
  await db
    .updateTable("service.contract_metadata as m")
    .set({
      ...noLease,
      attempted_at: now,
      fetched_block: block.number,
      error_code: isFault(name) ? name.fault : isFault(symbol) ? symbol.fault : null,
      uri_error: document.fault?.fault ?? null,
      status: again ? sql<MetadataStatus>`CASE WHEN m.fetched_at IS NULL THEN 'failed' ELSE 'fresh' END` : "fresh",
      next_attempt_at: sql<Date>`clock_timestamp() + ${pauseMs} * interval '1 millisecond'`,
      ...told,
      ...(again ? {} : { fetched_at: now, unchanged }),
      ...(retry ? {} : { attempts: 0 }),
    })
    .where(isHeld(queueOf(job.chainId), { key: [job.address], lease: job.leaseId }))
    .execute();
  if (fungible)
    await sql`DELETE FROM service.token_metadata m
      WHERE m.chain_id = ${job.chainId} AND m.contract = ${job.address} AND NOT EXISTS (SELECT FROM nft.tokens t
        WHERE t.chain_id = ${job.chainId} AND t.contract = m.contract AND t.token_id = m.token_id
          AND t.standard = 'ERC1155')`.execute(db);
}

/** Most contracts do not have this function, so more gas is only given if the error says that gas ran out. */
async function readContractUri(
  client: PublicClient,
  block: PinnedBlock,
  address: Hex,
  calls: ContractCalls,
): Promise<{ data: Buffer } | Fault> {
  const answer = await calls.call(client, block, address, selectors.contractUri);
  if (!isFault(answer) || answer.fault !== "call_out_of_gas") return answer;
  try {
    return await calls.climb(client, block, address, selectors.contractUri);
  } catch (error) {
    if (error instanceof Busy) return { fault: "rpc_unavailable" };
    throw error;
  }
}

function labelOf(answer: { data: Buffer } | Fault): string | null {
  return isFault(answer) ? null : decodeLabel(answer.data);
}

const nothing = {
  document: null,
  description: null,
  thumbnail_url: null,
  banner_url: null,
  cached_thumbnail_url: null,
  cached_banner_url: null,
};

/** The contract's own document, ready for the columns. */
interface ContractDocument {
  uri: string | null;
  fault: Fault | null;
  name: string | null;
  columns: Record<keyof typeof nothing, string | null>;
}

/**
 * Reads the document behind the result of `contractURI()`.
 *
 * @param answer the call's result; a contract without the function has no document, which is no fault.
 * Source: ERC-7572; marketplaces spell the banner in three ways.
 */
async function readContractDocument(
  answer: { data: Buffer } | Fault,
  { sources, cachedBase, signal }: ContractSources,
): Promise<ContractDocument> {
  const none = { uri: null, fault: null, name: null, columns: nothing };
  if (isFault(answer) || answer.data.length === 0) return none;
  const uri = decodeText(answer.data);
  if (uri === null || uri.trim() === "") return none;
  const raw = await readDocument(sources, uri, signal).catch((error: unknown): Fault => {
    if (error instanceof Busy) return { fault: "host_busy" };
    throw error;
  });
  if (isFault(raw)) return { ...none, uri, fault: raw };
  const document = parseDocument(raw.bytes);
  if (isFault(document)) return { ...none, uri, fault: document };
  const { members } = document;
  const banner =
    urlOf(members["banner_image"]) || urlOf(members["banner_image_url"]) || urlOf(members["banner"]) || null;
  const cached = async (url: string | null) => {
    const cid = await ownCopy(sources, url);
    return cid === null ? null : `${cachedBase}/${cid}`;
  };
  return {
    uri,
    fault: null,
    name: textOf(members["name"])?.slice(0, 256).toWellFormed() || null,
    columns: {
      document: document.text,
      description: document.description,
      thumbnail_url: document.image,
      banner_url: banner,
      cached_thumbnail_url: await cached(document.image),
      cached_banner_url: await cached(banner),
    },
  };
}
