import type { ProductType } from "../relay/store/operation-payload.ts";
import type { RoleList } from "./product-calls.ts";

/** A product contract as accepted: every default filled in, addresses as sent. Kept with the intent as JSON. */
export interface ContractPayload {
  type: ProductType;
  name: string;
  symbol: string;
  ownerAddress: string;
  tokensBurnable: boolean;
  tokensTransferable: boolean;
  metadataUpdatable: boolean;
  baseUri: string;
  royaltiesBps: string;
  royaltiesAddress: string;
  roles: RoleList[];
}

/** What an update of a product contract changes; absent members stay. */
export interface ContractChanges {
  /** Only `true` means something. */
  freezeMetadata?: boolean;
  baseUri?: string;
  royaltiesBps?: string;
  royaltiesAddress?: string;
  /** Only the given roles change. */
  roles?: RoleList[];
  /** The service gives its rights on the contract up, for good. */
  exit?: boolean;
}

export interface ContractUpdatePayload {
  /** Lower case. */
  contract: string;
  contractAsSent: string;
  changes: ContractChanges;
}
