import { type Abi, type Address, encodeFunctionData, type Hex, parseAbi } from "viem";
import { productOperatorAbi } from "../../contracts/abi/product-operator.ts";
import { productAbi, type RuntimeRecord, rolesOf } from "../transactions/chain/product-record.ts";
import type { OperationToken, ProductType, RoleList } from "../transactions/store/payloads.ts";

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

/** The operator's call that deploys a contract. @param name that of the intent. */
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

const members = {
  to: ({ to }: OperationToken): Address => (to ?? "").toLowerCase() as Address,
  id: ({ tokenId }: OperationToken): bigint => BigInt(tokenId),
  amount: ({ quantity }: OperationToken): bigint => BigInt(quantity ?? "1"),
  uri: ({ uri }: OperationToken): string => uri ?? "",
};

/** The parameters per token of a call for several tokens, and of that for one; ERC-721 has no amount. */
const tokenCalls = {
  mint: { takes: ["to", "id", "amount", "uri"], erc721: "mintToCaller", erc1155: "mintByOwner" },
  transfer: { takes: ["to", "id", "amount"], erc721: "transferByOwner", erc1155: "transferByOwner" },
  burn: { takes: ["id", "amount"], erc721: "burn", erc1155: "burn" },
} as const;

/** The call of a product contract that mints tokens; for ERC-721 exactly one. */
export const encodeMint = encoderOf("mint");
export const encodeTransfer = encoderOf("transfer");
export const encodeBurn = encoderOf("burn");

function encoderOf(kind: keyof typeof tokenCalls) {
  const { takes, ...names } = tokenCalls[kind];
  return (type: ProductType, tokens: readonly OperationToken[]): Hex => {
    const [first] = tokens;
    if (!first) throw new Error(`a ${kind} without tokens`);
    const reads = takes.filter((name) => type === "erc1155" || name !== "amount").map((name) => members[name]);
    const abi: Abi = type === "erc721" ? abi721 : abi1155;
    if (type === "erc721" || tokens.length === 1)
      return encodeFunctionData({ abi, functionName: names[type], args: reads.map((read) => read(first)) });
    const args = reads.map((read) => tokens.map((token) => read(token)));
    return encodeFunctionData({ abi, functionName: `${names[type]}Batch`, args });
  };
}

export function encodeTokenUpdate({ tokenId, uri, freeze }: OperationToken): Hex {
  return encodeFunctionData({
    abi: productAbi,
    functionName: "updateTokenUri",
    args: [BigInt(tokenId), uri ?? "", freeze ?? false],
  });
}
