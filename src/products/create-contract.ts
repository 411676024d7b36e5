import { zeroAddress } from "viem";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { lowerCase } from "../collections/deployment-input.ts";
import { Problems } from "../collections/problems.ts";
import type { Services } from "../services.ts";
import { requireOperator } from "../transactions/chain/context.ts";
import { placeOfProduct } from "../transactions/chain/product-record.ts";
import { intentName } from "../transactions/chain/request-call.ts";
import type { ProductType, RoleList } from "../transactions/store/payloads.ts";
import type { Operation } from "./carry-out.ts";
import { checkUri } from "./check-tokens.ts";
import { type ContractPayload, findOperatedChain } from "./find-product.ts";
import { encodeDeployProduct } from "./product-calls.ts";

interface CreateContractInput {
  /** As sent, aliases allowed. */
  chain: string;
  name: string;
  symbol: string;
  ownerAddress: string;
  /** Default erc721. */
  type?: ProductType | undefined;
  /** Default false. */
  metadataUpdatable?: boolean | undefined;
  baseUri?: string | undefined;
  /** Default 0. */
  royaltiesBps?: bigint | undefined;
  /** Default: the owner. */
  royaltiesAddress?: string | undefined;
  roles?: readonly RoleList[] | undefined;
  idempotencyKey?: string | undefined;
}

const mostTextBytes = 8_192;
const mostRoleAddresses = 100;

/**
 * A product contract that the operator deploys: nobody mints there for money; the owner, the service and whoever has a
 * role do.
 *
 * @throws ServiceError the gravest fault of the input, all of them in `details.problems`.
 */
export async function createContract(
  services: Services,
  caller: Caller,
  input: CreateContractInput,
): Promise<Operation> {
  const payload = checkContract(services, caller, input);
  const chain = findChain(services.chains, input.chain);
  const { operator } = requireOperator(chain);
  const { type, name, symbol, tokensBurnable, metadataUpdatable, tokensTransferable, roles } = payload;
  const owner = lowerCase(payload.ownerAddress);
  const deployment = { name, symbol, owner, tokensBurnable };
  const runtime = {
    ...{ baseURI: payload.baseUri, metadataUpdatable, tokensTransferable },
    royaltiesBps: BigInt(payload.royaltiesBps),
    royaltiesAddress: lowerCase(payload.royaltiesAddress),
  };
  return {
    ...{ chain, kind: "contract", idempotencyKey: input.idempotencyKey },
    canonical: canonicalOf(payload),
    draft: async (id) => {
      const data = encodeDeployProduct(type, intentName(id), deployment, runtime, roles);
      return { payload, target: placeOfProduct(operator.address, data).address, owner, data };
    },
  };
}

/** Addresses mean the same in any letter case; texts do not. */
function canonicalOf(payload: ContractPayload): string {
  const { ownerAddress, royaltiesAddress, roles, ...texts } = payload;
  const lists = roles.map(({ role, addresses, freeze }) => [
    role,
    addresses.map((address) => address.toLowerCase()),
    freeze,
  ]);
  return JSON.stringify([texts, ownerAddress.toLowerCase(), royaltiesAddress.toLowerCase(), lists]);
}

function checkContract(services: Services, caller: Caller, input: CreateContractInput): ContractPayload {
  const problems = new Problems();
  problems.attempt(() => findOperatedChain(services, caller, input.chain));
  const { name, symbol, ownerAddress } = input;
  for (const [field, text] of Object.entries({ name, symbol }))
    if (text.trim() === "") problems.add("value_error", field, `the ${field} is empty`);
  if (Buffer.byteLength(name) + Buffer.byteLength(symbol) > mostTextBytes)
    problems.add("value_error", "name", `name and symbol may hold ${mostTextBytes} bytes together`);
  for (const [field, text] of Object.entries({ name, symbol }))
    if (text.includes("\u0000") || !text.isWellFormed())
      problems.add("value_error", field, `a ${field} holds no NUL and no half of a character`);
  checkAddress(problems, "ownerAddress", ownerAddress);
  if (input.baseUri !== undefined) checkUri(problems, "baseUri", input.baseUri);
  checkRoyalties(problems, input);
  const royaltiesAddress = input.royaltiesAddress ?? ownerAddress;
  checkRoles(problems, input.roles ?? []);
  problems.check();
  return {
    type: input.type ?? "erc721",
    ...{ name, symbol, ownerAddress },
    tokensBurnable: true,
    tokensTransferable: true,
    metadataUpdatable: input.metadataUpdatable ?? false,
    baseUri: input.baseUri ?? "",
    royaltiesBps: String(input.royaltiesBps ?? 0n),
    royaltiesAddress,
    roles: [...(input.roles ?? [])],
  };
}

function checkAddress(problems: Problems, field: string, address: string): void {
  if (!/^0x[0-9a-fA-F]{40}$/.test(address))
    problems.add("invalid_address", field, `${field} must be 0x and 40 hex digits`);
  else if (address.toLowerCase() === zeroAddress) problems.add("invalid_address", field, "this is the zero address");
}

export function checkRoyalties(
  problems: Problems,
  { royaltiesBps, royaltiesAddress }: { royaltiesBps?: bigint | undefined; royaltiesAddress?: string | undefined },
): void {
  if (royaltiesBps !== undefined && (royaltiesBps < 0n || royaltiesBps > 10_000n))
    problems.add("value_error", "royaltiesBps", "the royalty share must be 0 to 10000 basis points");
  if (royaltiesAddress !== undefined) checkAddress(problems, "royaltiesAddress", royaltiesAddress);
}

export function checkRoles(problems: Problems, roles: readonly RoleList[]): void {
  const count = roles.reduce((sum, { addresses }) => sum + addresses.length, 0);
  if (count > mostRoleAddresses)
    problems.add("value_error", "roles", `the lists of roles may hold ${mostRoleAddresses} addresses together`);
  for (const [index, { role, addresses }] of roles.entries()) {
    if (roles.findIndex((list) => list.role === role) < index)
      problems.add("value_error", `roles[${index}].role`, `the role ${role} is listed twice`);
    for (const address of addresses.slice(0, mostRoleAddresses))
      checkAddress(problems, `roles[${index}].addresses`, address);
  }
}
