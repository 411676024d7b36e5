import type { OperationKind } from "../relay/chain/operation.ts";
import type { ContractUpdatePayload, ProductType, RoleList, TokensPayload } from "../relay/store/operation-payload.ts";
import type { ChainRequest, Family } from "../transactions/requests.ts";

/** A contract, mint, update, burn or transfer, from the request to the chain. */
export type ProductRequest = ChainRequest<OperationKind, ContractPayload | ContractUpdatePayload | TokensPayload>;
export const productRequests: Family<ProductRequest> = {
  name: "request",
  kinds: ["contract", "contract_update", "mint", "token_update", "burn", "transfer"],
};

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
