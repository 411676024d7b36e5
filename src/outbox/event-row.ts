import type { Chain } from "../chains.ts";

export type Finality = "latest" | "safe" | "finalized";
export const finalities: readonly Finality[] = ["latest", "safe", "finalized"];

/** A row of `service.event`. */
export interface EventRow {
  sequence: bigint;
  at: Date;
  type: string;
  id: string;
  account_id: string | null;
  for_operator: boolean;
  chain_id: number | null;
  finality: Finality | null;
  contract: Buffer | null;
  /** Decimal. */
  token_id: string | null;
  from_address: Buffer | null;
  to_address: Buffer | null;
  amount: string | null;
  standard: string | null;
  block_number: bigint | null;
  block_hash: Buffer | null;
  block_timestamp: bigint | null;
  tx_hash: Buffer | null;
  log_index: number | null;
  batch_index: number | null;
  kind: string | null;
  retracts: string | null;
  data: Record<string, unknown> | null;
}

/** The name of a chain in events; for one that this process does not know, its id. */
export type NameOfChain = (id: number) => string;

export function chainNames(chains: readonly Chain[]): NameOfChain {
  const names = new Map(chains.map(({ id, name }) => [id, name]));
  return (id) => names.get(id) ?? `eip155:${id}`;
}

/** The `data` of an event for receivers. */
export function eventData(row: EventRow, nameOf: NameOfChain): Record<string, unknown> {
  const common = {
    id: row.id,
    sequence: String(row.sequence),
    ...(row.chain_id === null ? {} : { chain: nameOf(row.chain_id), chainId: row.chain_id }),
  };
  // An event other than a movement has its details in members of its own.
  if (row.kind === null) return { ...common, ...row.data };
  return {
    ...common,
    blockNumber: String(row.block_number),
    blockHash: hex(row.block_hash),
    blockTimestamp: timeOf(row.block_timestamp),
    finality: row.finality,
    kind: row.kind,
    standard: row.standard,
    contract: hex(row.contract),
    tokenId: row.token_id,
    amount: row.amount,
    from: hex(row.from_address),
    to: hex(row.to_address),
    transactionHash: hex(row.tx_hash),
    logIndex: row.log_index,
    batchIndex: row.batch_index,
    retracts: row.retracts,
  };
}

/**
 * The JSON text of an event: always the same bytes for the same row, so that a signature over them can be made again.
 */
export function eventBody(row: EventRow, nameOf: NameOfChain): string {
  return JSON.stringify({ type: row.type, timestamp: row.at.toISOString(), data: eventData(row, nameOf) });
}

function hex(bytes: Buffer | null): string | null {
  return bytes && `0x${bytes.toString("hex")}`;
}

/** @param seconds of the epoch, as the chain reports them: not always a valid date. */
function timeOf(seconds: bigint | null): string | null {
  if (seconds === null || seconds < 0n || seconds > 253_402_300_799n) return null;
  return new Date(Number(seconds) * 1_000).toISOString();
}
