import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Hex, PublicClient } from "viem";
import { toHex } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import { callContract, decodeLabel, type PinnedBlock } from "./call-contract.ts";
import { readContractDocument } from "./contract-document.ts";
import { type Fault, type FaultCode, isFault, mayPass, retryAfterMs } from "./fault.ts";
import type { Sources } from "./read-document.ts";

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
}

/** Takes up to `limit` contracts whose name, symbol and document are due. */
export async function claimContracts(db: Kysely<Database>, chainId: number, limit: number): Promise<ContractJob[]> {
  const leaseId = randomUUID();
  const { rows } = await sql<{ address: Buffer; attempts: number }>`
    UPDATE service.contract_metadata m SET
      lease_id = ${leaseId}, lease_until = clock_timestamp() + interval '60 seconds',
      next_attempt_at = clock_timestamp() + interval '60 seconds', attempts = m.attempts + 1
    FROM (
      SELECT address FROM service.contract_metadata
      WHERE chain_id = ${chainId} AND next_attempt_at <= clock_timestamp()
      ORDER BY next_attempt_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ) due
    WHERE m.chain_id = ${chainId} AND m.address = due.address
    RETURNING m.address, m.attempts`.execute(db);
  return rows.map((row) => ({ chainId, leaseId, ...row }));
}

/** What reading a contract needs beside the chain. */
export interface ContractSources {
  sources: Sources;
  /** Base of the URLs of our own copies. */
  cachedBase: string;
  signal: AbortSignal;
}

/**
 * Asks a contract for its name, its symbol and its own document (ERC-7572 `contractURI`). Many have
 * none of them: that is an answer too, and a document that cannot be read takes nothing from the rest.
 */
export async function readContract(
  db: Kysely<Database>,
  client: PublicClient,
  block: PinnedBlock,
  job: ContractJob,
  from: ContractSources,
): Promise<void> {
  const address = toHex(job.address) as Hex;
  const [name, symbol, uri] = await Promise.all([
    callContract(client, block, address, selectors.name),
    callContract(client, block, address, selectors.symbol),
    callContract(client, block, address, selectors.contractUri),
  ]);
  const document = await readContractDocument(uri, from);
  const again = [name, symbol, uri].flatMap((answer) => (isFault(answer) ? [answer.fault] : [])).find(isSilence);
  const retry = again ?? (document.fault && mayPass(document.fault) ? document.fault : undefined);
  const delayMs = retry && retryAfterMs(retry, job.attempts);
  const said = { name: labelOf(name) ?? document.name, symbol: labelOf(symbol) };
  const now = sql<Date>`clock_timestamp()`;
  await db
    .updateTable("service.contract_metadata")
    .set({
      lease_id: null,
      lease_until: null,
      attempted_at: now,
      fetched_block: block.number,
      error_code: isFault(name) ? name.fault : isFault(symbol) ? symbol.fault : null,
      uri_error: document.fault,
      status: again ? "failed" : "fresh",
      next_attempt_at: delayMs == null ? null : sql<Date>`clock_timestamp() + make_interval(secs => ${delayMs / 1000})`,
      ...(again ? {} : { ...said, fetched_at: now }),
      ...(retry ? {} : { attempts: 0 }),
      ...(document.fault && mayPass(document.fault) ? {} : document.columns),
      ...(document.uri === null ? {} : { contract_uri: document.uri }),
    })
    .where("chain_id", "=", job.chainId)
    .where("address", "=", job.address)
    .where("lease_id", "=", job.leaseId)
    .execute();
}

/** The node was silent or slow: nothing is known about the contract. */
function isSilence(fault: FaultCode): boolean {
  return fault === "rpc_unavailable" || fault === "call_timeout";
}

function labelOf(answer: { data: Buffer } | Fault): string | null {
  return isFault(answer) ? null : decodeLabel(answer.data);
}
