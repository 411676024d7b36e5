import { type Address, encodeFunctionData, type Hex, keccak256, parseAbi, stringToHex } from "viem";
import { productOperatorAbi } from "../../contracts/abi/product-operator.ts";
import type { OperationToken, ProductType } from "../relay/store/operation-payload.ts";

/** What the operator calls of a product contract, and what is read of one before. */
export const productAbi = parseAbi([
  "struct Runtime { string baseURI; bool metadataUpdatable; bool tokensTransferable; uint256 royaltiesBps; address royaltiesAddress; }",
  "struct Roles { bytes32 role; address[] addresses; bool frozen; }",
  "function update(Runtime newConfig, Roles[] rolesAddresses, bool isRevokeNFTPortPermissions)",
  "function updateTokenUri(uint256 tokenId, string uri, bool freeze)",
  "function owner() view returns (address)",
  "function baseURI() view returns (string)",
  "function metadataUpdatable() view returns (bool)",
  "function tokensTransferable() view returns (bool)",
  "function royaltiesBasisPoints() view returns (uint256)",
  "function royaltiesAddress() view returns (address)",
]);
const abi721 = parseAbi([
  "function mintToCaller(address caller, uint256 tokenId, string tokenURI) returns (uint256)",
  "function transferByOwner(address to, uint256 tokenId)",
  "function burn(uint256 tokenId)",
]);
const abi1155 = parseAbi([
  "function mintByOwner(address account, uint256 id, uint256 amount, string tokenUri)",
  "function mintByOwnerBatch(address[] to, uint256[] ids, uint256[] amounts, string[] uris)",
  "function transferByOwner(address to, uint256 id, uint256 amount)",
  "function transferByOwnerBatch(address[] to, uint256[] ids, uint256[] amounts)",
  "function burn(uint256 id, uint256 value)",
  "function burnBatch(uint256[] ids, uint256[] values)",
]);

/** Roles of a product contract by the words of requests. */
export const roleWords = {
  mint: "MINT_ROLE",
  update_contract: "UPDATE_CONTRACT_ROLE",
  update_token: "UPDATE_TOKEN_ROLE",
  burn: "BURN_ROLE",
  transfer: "TRANSFER_ROLE",
} as const;
export type RoleWord = keyof typeof roleWords;

/** Who has a role by list; a frozen list never changes again. */
export interface RoleList {
  role: RoleWord;
  /** As sent. */
  addresses: readonly string[];
  freeze: boolean;
}

export interface RuntimeRecord {
  baseURI: string;
  metadataUpdatable: boolean;
  tokensTransferable: boolean;
  royaltiesBps: bigint;
  royaltiesAddress: Address;
}

export interface DeploymentRecord {
  name: string;
  symbol: string;
  owner: Address;
  tokensBurnable: boolean;
}

export function rolesOf(lists: readonly RoleList[]) {
  return lists.map(({ role, addresses, freeze }) => ({
    role: keccak256(stringToHex(roleWords[role])),
    addresses: addresses.map((address) => address.toLowerCase() as Address),
    frozen: freeze,
  }));
}

/** The operator's call that deploys a contract. @param name of the intent. */
export function encodeDeployProduct(
  type: ProductType,
  name: Hex,
  deployment: DeploymentRecord,
  runtime: RuntimeRecord,
  roles: readonly RoleList[],
): Hex {
  return encodeFunctionData({
    abi: productOperatorAbi,
    functionName: type === "erc721" ? "deployERC721" : "deployERC1155",
    args: [name, deployment, runtime, rolesOf(roles)],
  });
}

export function encodeUpdateProduct(runtime: RuntimeRecord, roles: readonly RoleList[], exit: boolean): Hex {
  return encodeFunctionData({ abi: productAbi, functionName: "update", args: [runtime, rolesOf(roles), exit] });
}

/** The call of a product contract that mints tokens: of ERC-721 exactly one. */
export function encodeMint(type: ProductType, tokens: readonly OperationToken[]): Hex {
  const [first] = tokens;
  if (!first) throw new Error("a mint without tokens");
  if (type === "erc721")
    return encodeFunctionData({
      abi: abi721,
      functionName: "mintToCaller",
      args: [addressOf(first), BigInt(first.tokenId), first.uri ?? ""],
    });
  return tokens.length === 1
    ? encodeFunctionData({
        abi: abi1155,
        functionName: "mintByOwner",
        args: [addressOf(first), BigInt(first.tokenId), amountOf(first), first.uri ?? ""],
      })
    : encodeFunctionData({
        abi: abi1155,
        functionName: "mintByOwnerBatch",
        args: [
          tokens.map(addressOf),
          tokens.map(({ tokenId }) => BigInt(tokenId)),
          tokens.map(amountOf),
          tokens.map(({ uri }) => uri ?? ""),
        ],
      });
}

export function encodeTransfer(type: ProductType, tokens: readonly OperationToken[]): Hex {
  const [first] = tokens;
  if (!first) throw new Error("a transfer without tokens");
  if (type === "erc721")
    return encodeFunctionData({
      abi: abi721,
      functionName: "transferByOwner",
      args: [addressOf(first), BigInt(first.tokenId)],
    });
  return tokens.length === 1
    ? encodeFunctionData({
        abi: abi1155,
        functionName: "transferByOwner",
        args: [addressOf(first), BigInt(first.tokenId), amountOf(first)],
      })
    : encodeFunctionData({
        abi: abi1155,
        functionName: "transferByOwnerBatch",
        args: [tokens.map(addressOf), tokens.map(({ tokenId }) => BigInt(tokenId)), tokens.map(amountOf)],
      });
}

export function encodeBurn(type: ProductType, tokens: readonly OperationToken[]): Hex {
  const [first] = tokens;
  if (!first) throw new Error("a burn without tokens");
  if (type === "erc721")
    return encodeFunctionData({ abi: abi721, functionName: "burn", args: [BigInt(first.tokenId)] });
  return tokens.length === 1
    ? encodeFunctionData({ abi: abi1155, functionName: "burn", args: [BigInt(first.tokenId), amountOf(first)] })
    : encodeFunctionData({
        abi: abi1155,
        functionName: "burnBatch",
        args: [tokens.map(({ tokenId }) => BigInt(tokenId)), tokens.map(amountOf)],
      });
}

export function encodeTokenUpdate({ tokenId, uri, freeze }: OperationToken): Hex {
  return encodeFunctionData({
    abi: productAbi,
    functionName: "updateTokenUri",
    args: [BigInt(tokenId), uri ?? "", freeze ?? false],
  });
}

function addressOf({ to }: OperationToken): Address {
  return (to ?? "").toLowerCase() as Address;
}

function amountOf({ quantity }: OperationToken): bigint {
  return BigInt(quantity ?? "1");
}
