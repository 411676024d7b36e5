import { type Address, encodeFunctionData, type Hex, parseAbi } from "viem";
import { productOperatorAbi } from "../../contracts/abi/product-operator.ts";
import { productAbi, type RuntimeRecord, rolesOf } from "../transactions/chain/product-record.ts";
import type { OperationToken, ProductType, RoleList } from "../transactions/store/payloads.ts";

export { type RoleList, type RoleWord, roleWords } from "../transactions/store/payloads.ts";

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

interface DeploymentRecord {
  name: string;
  symbol: string;
  owner: Address;
  tokensBurnable: boolean;
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
