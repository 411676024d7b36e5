import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Hex, PublicClient } from "viem";
import { toHex } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { claimRows, dueRows, inSeconds, isHeld, noLease, type WorkQueue } from "../../db/lease.ts";
import { type Fault, isFault, mayPass, retryAfterMs } from "../../outbound/fault.ts";
import { Busy } from "../../outbound/host-limits.ts";
import {
  type ContractCalls,
  decodeLabel,
  decodeRoyalty,
  type PinnedBlock,
  royaltyCall,
} from "../read/call-contract.ts";
import { readContractDocument } from "../read/contract-document.ts";
import type { Sources } from "../read/read-document.ts";

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

type Row = Pick<ContractJob, "address" | "attempts">;

const leaseSeconds = 60;
const queueOf = (chainId: number): WorkQueue => ({
  table: "service.contract_metadata",
  scope: { chain_id: chainId },
  key: ["address"],
  due: "next_attempt_at",
  attempts: "attempts",
  named: true,
});

/** Takes up to `limit` contracts whose name, symbol and document are due. */
export async function claimContracts(db: Kysely<Database>, chainId: number, limit: number): Promise<ContractJob[]> {
  const leaseId = randomUUID();
  const queue = queueOf(chainId);
  const lease = { seconds: leaseSeconds, id: leaseId };
  const claim = claimRows<Row>(queue, dueRows(queue, limit), lease, sql`m.address, m.attempts`);
  const { rows } = await claim.execute(db);
  return rows.map((row) => ({ chainId, leaseId, ...row }));
}

/** What reading a contract needs beside the chain. */
export interface ContractSources {
  calls: ContractCalls;
  sources: Sources;
  /** Base of the URLs of our own copies. */
  cachedBase: string;
  signal: AbortSignal;
}

/**
 * Asks a contract for its name, its symbol, its royalty (ERC-2981) and its own document (ERC-7572 `contractURI`). Many have
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
  const call = (data: Hex) => from.calls.call(client, block, address, data);
  const [name, symbol, uri, royalty] = await Promise.all([
    call(selectors.name),
    call(selectors.symbol),
    readContractUri(client, block, address, from.calls),
    call(royaltyCall),
  ]);
  const document = await readContractDocument(uri, from);
  const again = [name, symbol, uri, royalty].find(isSilence);
  const passing = document.fault && mayPass(document.fault.fault) ? document.fault : null;
  const retry = again ?? passing;
  const delayMs = retry && retryAfterMs(retry, job.attempts);
  const reported = {
    ...{ name: labelOf(name) ?? document.name, symbol: labelOf(symbol) },
    royalty_bps: isFault(royalty) ? null : decodeRoyalty(royalty.data),
  };
  const now = sql<Date>`clock_timestamp()`;
  await db
    .updateTable("service.contract_metadata")
    .set({
      ...noLease,
      attempted_at: now,
      fetched_block: block.number,
      error_code: isFault(name) ? name.fault : isFault(symbol) ? symbol.fault : null,
      uri_error: document.fault?.fault ?? null,
      status: again ? "failed" : "fresh",
      next_attempt_at: delayMs == null ? null : inSeconds(delayMs / 1000),
      ...(again ? {} : { ...reported, fetched_at: now }),
      ...(retry ? {} : { attempts: 0 }),
      ...(passing ? {} : document.columns),
      ...(document.uri === null ? {} : { contract_uri: document.uri }),
    })
    .where(isHeld(queueOf(job.chainId), { key: [job.address], lease: job.leaseId }))
    .execute();
}

/** Most contracts have no such function, so only one that says that its gas was short gets more. */
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

/** The node was silent or slow: nothing is known about the contract. */
function isSilence(answer: object): answer is Fault {
  return isFault(answer) && (answer.fault === "rpc_unavailable" || answer.fault === "call_timeout");
}

function labelOf(answer: { data: Buffer } | Fault): string | null {
  return isFault(answer) ? null : decodeLabel(answer.data);
}
