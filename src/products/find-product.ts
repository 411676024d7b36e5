import type { Address } from "viem";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain, operatorsOf } from "../chains.ts";
import { toAddress } from "../db/bytes.ts";
import { unknownProductFix } from "../errors/error-guide.ts";
import { ServiceError } from "../errors/errors.ts";
import { chain, contract, type InputOf, idempotencyKey } from "../requests/fields.ts";
import { type ChainRequest, type Family, findDeploymentAt } from "../requests/requests.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { requireOperator } from "../transactions/chain/context.ts";
import { productAbi } from "../transactions/chain/product-record.ts";
import type { OperationKind } from "../transactions/store/intents.ts";
import type { ContractUpdatePayload, ProductType, RoleList, TokensPayload } from "../transactions/store/payloads.ts";

/** A contract, mint, update, burn or transfer, from the request to the chain. */
export type ProductRequest = ChainRequest<OperationKind, ContractPayload | ContractUpdatePayload | TokensPayload>;
export const productRequests: Family<ProductRequest> = {
  name: "request",
  kinds: ["contract", "contract_update", "mint", "token_update", "burn", "transfer"],
};

/** A product contract as accepted: with all defaults, addresses as sent. Stored with the intent as JSON. */
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

/** An existing product contract of the caller's account. */
export interface Product {
  chain: Chain;
  /** Lower case. */
  address: Address;
  /** As the request spelled it. */
  asSent: string;
  type: ProductType;
  /** The owner that it was deployed with. */
  deployedOwner: Address;
  /** The operator that acts on it: the one that deployed it, while this installation has that one. */
  operator: Address;
}

/** The members that identify a request's contract. */
export const productFields = { chain, contract, idempotencyKey };
export type ProductInput = InputOf<typeof productFields>;

/**
 * The product contract that a request acts on.
 *
 * @throws ServiceError `chain_not_supported`; `invalid_address`; `not_found` for a contract without a confirmed
 *   deployment of this account; `plan_limit_exceeded` on a chain for paid plans only.
 */
export async function findProduct(services: Services, caller: Caller, input: ProductInput): Promise<Product> {
  const chain = findOperatedChain(services, caller, input.chain);
  if (!/^0x[0-9a-fA-F]{40}$/.test(input.contract))
    throw new ServiceError("invalid_address", "contract must be 0x and 40 hex digits", { field: "contract" });
  const address = input.contract.toLowerCase() as Address;
  const row = await findDeploymentAt(services, caller, "contract", chain, address);
  if (!row)
    throw new ServiceError("not_found", "no confirmed product contract of this account stands at this address", {
      field: "contract",
      fix: unknownProductFix,
    });
  const { type } = row.payload as ContractPayload;
  const deployedBy = toAddress(row.factory);
  const operator = operatorsOf(chain).find((known) => known.address === deployedBy) ?? requireOperator(chain).operator;
  return {
    ...{ chain, address, asSent: input.contract, type },
    ...{ deployedOwner: toAddress(row.owner), operator: operator.address },
  };
}

/** The chain of a request for the operator. @throws as `findProduct`. */
export function findOperatedChain(services: Services, caller: Caller, name: string): Chain {
  const chain = findChain(services.chains, name);
  requireOperator(chain);
  if (chain.paidTierOnly && caller.tier === "free")
    throw new ServiceError("plan_limit_exceeded", `minting on ${chain.name} needs a Growth or Scale key`, {
      field: "chain",
    });
  return chain;
}

/** The current owner of a contract, whose tokens are burned and transferred. */
export async function readOwner(services: Services, { chain, address }: Product): Promise<Address> {
  const owner = await askNode(chain, () =>
    services.rpc(chain).readContract({ address, abi: productAbi, functionName: "owner" }),
  );
  return owner.toLowerCase() as Address;
}
