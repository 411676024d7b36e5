import { randomUUID } from "node:crypto";
import { type Kysely, sql } from "kysely";
import type { Hex, PublicClient } from "viem";
import { toHex } from "../db/bytes.ts";
import type { Database } from "../db/database.ts";
import { callContract, decodeLabel, type PinnedBlock } from "./call-contract.ts";
import { type FaultCode, isFault, retryAfterMs } from "./fault.ts";

const nameSelector: Hex = "0x06fdde03";
const symbolSelector: Hex = "0x95d89b41";

interface ContractJob {
  chainId: number;
  address: Buffer;
  leaseId: string;
  attempts: number;
}

/** Takes up to `limit` contracts whose name and symbol are due. */
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

/** Asks a contract for its name and symbol. Many ERC-1155 contracts have neither: that is an answer too. */
export async function readContract(
  db: Kysely<Database>,
  client: PublicClient,
  block: PinnedBlock,
  job: ContractJob,
): Promise<void> {
  const address = toHex(job.address) as Hex;
  const answers = await Promise.all(
    [nameSelector, symbolSelector].map((selector) => callContract(client, block, address, selector)),
  );
  const faults = answers.flatMap((answer) => (isFault(answer) ? [answer.fault] : []));
  const again = faults.find((fault) => fault === "rpc_unavailable" || fault === "call_timeout");
  const [name = null, symbol = null] = answers.map((answer) => (isFault(answer) ? null : decodeLabel(answer.data)));
  await finish(db, job, block.number, again, faults[0] ?? null, { name, symbol });
}

async function finish(
  db: Kysely<Database>,
  job: ContractJob,
  block: bigint,
  again: FaultCode | undefined,
  fault: FaultCode | null,
  labels: { name: string | null; symbol: string | null },
): Promise<void> {
  const now = sql<Date>`clock_timestamp()`;
  const delayMs = again && retryAfterMs(again, job.attempts);
  await db
    .updateTable("service.contract_metadata")
    .set({
      lease_id: null,
      lease_until: null,
      attempted_at: now,
      fetched_block: block,
      error_code: fault,
      status: again ? "failed" : "fresh",
      next_attempt_at:
        delayMs === undefined ? null : sql<Date>`clock_timestamp() + make_interval(secs => ${delayMs / 1000})`,
      ...(again ? {} : { ...labels, fetched_at: now, attempts: 0 }),
    })
    .where("chain_id", "=", job.chainId)
    .where("address", "=", job.address)
    .where("lease_id", "=", job.leaseId)
    .execute();
}
