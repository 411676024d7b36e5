import { zeroAddress } from "viem";
import type { Caller } from "../auth/caller.ts";
import { findChain } from "../chains.ts";
import { lowerCase } from "../collections/deployment-input.ts";
import { Problems } from "../collections/problems.ts";
import {
  address,
  addresses,
  chain,
  contract,
  flag,
  type InputOf,
  idempotencyKey,
  items,
  royalties,
  royaltiesReceiver,
  text,
  word,
} from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { requireOperator } from "../transactions/chain/context.ts";
import { placeOfProduct } from "../transactions/chain/product-record.ts";
import { intentName } from "../transactions/chain/request-call.ts";
import type { ProductType, RoleList, RoleWord } from "../transactions/store/payloads.ts";
import type { Operation } from "./carry-out.ts";
import { checkUri } from "./check-tokens.ts";
import { type ContractPayload, findOperatedChain } from "./find-product.ts";
import { encodeDeployProduct } from "./product-calls.ts";

/** The token standards of contracts. */
export const standards: Record<ProductType, string> = {
  erc721: "Each token is unique and has one owner (ERC-721).",
  erc1155: "A token id can have many units and many holders (ERC-1155).",
};

/** What accounts other than the owner and the service may be allowed to do in a contract. */
export const roleWords: Record<RoleWord, string> = {
  mint: "Mint tokens to any account.",
  update_contract: "Change the settings of the contract, such as base URI and royalties.",
  update_token: "Change or freeze the metadata URI of a token.",
  burn: "Burn tokens owned by the contract's owner.",
  transfer: "Transfer tokens owned by the contract's owner.",
};

const mostRoles = 20;
export const roleFields = {
  role: word(roleWords, { required: true, doc: "The role. Each role can occur once per request." }),
  addresses: addresses({
    required: "graphql",
    doc: "The accounts that receive the role. All roles of the contract can have 100 accounts in total.",
  }),
  freeze: flag({ doc: "Whether to permanently freeze the role's list; false by default." }),
};
const roles = items(roleFields, mostRoles, { doc: "Accounts that receive roles in the contract; none by default." });

/** The members of a request for a new contract. */
export const contractFields = {
  chain,
  name: text({ required: true, doc: "The name of the contract, not empty. It cannot be changed later." }),
  symbol: text({ required: true, doc: "The symbol of the contract, such as TIX. It cannot be changed later." }),
  ownerAddress: address({
    required: true,
    graphql: "owner",
    doc: "The wallet that will own the contract and have all rights in it.",
  }),
  type: word(standards, {
    graphql: "standard",
    default: "erc721",
    doc: "The token standard of the contract.",
  }),
  metadataUpdatable: flag({ default: false, doc: "Whether the metadata URIs of tokens can be changed later." }),
  baseUri: text({
    doc: "A prefix that the contract puts before the URI of each token, such as ipfs://; empty by default, up to 2,048 bytes.",
  }),
  royaltiesBps: royalties({ default: 0 }),
  royaltiesAddress: royaltiesReceiver,
  roles,
  idempotencyKey,
};
type CreateContractInput = InputOf<typeof contractFields>;

/** The members of a change of a contract, which only /v0 has. */
export const contractChangeFields = {
  freezeMetadata: flag({ doc: "`true` permanently freezes the metadata of all tokens; `false` changes nothing." }),
  chain,
  contract,
  baseUri: { ...contractFields.baseUri, emptyIsText: true },
  royaltiesBps: royalties({}),
  royaltiesAddress: address({
    v0: ["royalties_address", "royalty_address"],
    doc: "The address that receives royalties.",
  }),
  roles: items(roleFields, mostRoles, {
    doc: "Lists of roles, up to 20. Each replaces the list of its role; other roles do not change.",
  }),
  exit: flag({
    v0: ["exit_nftport"],
    doc: "`true` permanently gives up the service's rights in the contract.",
  }),
  idempotencyKey,
};

const mostTextBytes = 8_192;
const mostRoleAddresses = 100;

/**
 * Deploys a product contract through the operator. Nobody can buy a mint there; only the owner, the service and
 * accounts with a role mint.
 *
 * @throws ServiceError the gravest fault of the input, with all of them in `details.problems`.
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

/** Addresses are equal in any letter case; texts are not. */
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
  checkRoles(problems, roleLists(input.roles));
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
    roles: roleLists(input.roles),
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

/** Role lists with defaults for absent members. */
export function roleLists(given: InputOf<typeof contractFields>["roles"] = []): RoleList[] {
  return given.map(({ role, addresses = [], freeze = false }) => ({ role, addresses, freeze }));
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
