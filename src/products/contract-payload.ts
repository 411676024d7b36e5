import type { ProductType, RoleList } from "../relay/store/operation-payload.ts";

export type { ContractChanges, ContractUpdatePayload } from "../relay/store/operation-payload.ts";

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
