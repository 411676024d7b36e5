import { toHex } from "../db/bytes.ts";
import type { Standard, TransferView } from "../db/tables/nft.ts";

/** `mint`: from the zero address. `burn`: to it. */
type TransferKind = "transfer" | "mint" | "burn";

/** One token that moved; a batch is a record for each of its token ids. Addresses and hashes are lower case. */
export interface Transfer {
  /** The chain's name as the request spelled it. */
  chain: string;
  kind: TransferKind;
  contract: string;
  tokenId: bigint;
  standard: Standard;
  from: string;
  to: string;
  /** Who moved it, for ERC-1155; null for ERC-721. */
  operator: string | null;
  amount: bigint;
  transactionHash: string;
  /** Sender of the transaction. */
  sender: string;
  blockHash: string;
  blockNumber: bigint;
  /** Unix seconds. */
  blockTimestamp: bigint;
  logIndex: number;
  batchIndex: number;
}

export const zeroAddress = Buffer.alloc(20);

export function toTransfer(chain: string, row: TransferView): Transfer {
  const kind = row.from_address.equals(zeroAddress) ? "mint" : row.to_address.equals(zeroAddress) ? "burn" : "transfer";
  return {
    chain,
    kind,
    contract: toHex(row.contract),
    tokenId: BigInt(row.token_id),
    standard: row.standard,
    from: toHex(row.from_address),
    to: toHex(row.to_address),
    operator: row.operator && toHex(row.operator),
    amount: BigInt(row.amount),
    transactionHash: toHex(row.tx_hash),
    sender: toHex(row.tx_from),
    blockHash: toHex(row.block_hash),
    blockNumber: row.block_number,
    blockTimestamp: row.block_timestamp,
    logIndex: row.log_index,
    batchIndex: row.batch_index,
  };
}
