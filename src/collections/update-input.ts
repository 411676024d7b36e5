import type { Address } from "viem";
import type { FixedMembers } from "./check-against-chain.ts";

/** Absent members stay as they are. */
export interface UpdateCollectionInput {
  /** As sent, aliases allowed. */
  chain: string;
  /** Lower case. */
  collection: Address;
  /** Reveals the collection; empty hides it again. */
  baseUri?: string | undefined;
  prerevealTokenUri?: string | undefined;
  publicMintStart?: Date | undefined;
  presaleMintStart?: Date | undefined;
  /** Replaces the whole presale list; empty: nobody. */
  allowlist?: readonly string[] | undefined;
  royaltiesBps?: bigint | undefined;
  royaltiesAddress?: string | undefined;
  /** True freezes the metadata for good; false changes nothing. */
  freezeMetadata?: boolean | undefined;
  /** What never changes, when a client repeats it: refused if it differs. */
  fixed?: FixedMembers | undefined;
  idempotencyKey?: string | undefined;
}
