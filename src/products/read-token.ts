import { type Address, parseAbi } from "viem";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import type { Product } from "./find-product.ts";

const abi = parseAbi([
  "function ownerOf(uint256 tokenId) view returns (address)",
  "function totalSupply(uint256 id) view returns (uint256)",
  "function tokenURI(uint256 tokenId) view returns (string)",
  "function uri(uint256 id) view returns (string)",
]);

/**
 * Whether a token exists at a block, by default the newest one; an ERC-1155 id exists while it has supply.
 *
 * @throws ServiceError `service_unavailable` while the node does not answer.
 */
export async function isMinted(
  services: Services,
  product: Product,
  tokenId: bigint,
  blockNumber?: bigint,
): Promise<boolean> {
  if (product.type === "erc721") return (await readTokenOwner(services, product, tokenId, blockNumber)) !== null;
  const { chain, address } = product;
  const question = { address, abi, functionName: "totalSupply", args: [tokenId], ...at(blockNumber) } as const;
  return await askNode(chain, async () => (await services.rpc(chain).readContract(question)) > 0n);
}

/**
 * The owner of an ERC-721 token, in lower case; null while it does not exist.
 *
 * @throws as `isMinted`.
 */
export async function readTokenOwner(
  services: Services,
  { chain, address }: Product,
  tokenId: bigint,
  blockNumber?: bigint,
): Promise<Address | null> {
  const question = { address, abi, functionName: "ownerOf", args: [tokenId], ...at(blockNumber) } as const;
  const owner = await askNode(chain, () => services.rpc(chain).readContract(question).catch(nullOfNoToken));
  return owner && (owner.toLowerCase() as Address);
}

/**
 * A token's URI as the contract returns it; null while the token does not exist.
 *
 * @throws as `isMinted`.
 */
export async function readTokenUri(
  services: Services,
  { chain, address, type }: Product,
  tokenId: bigint,
  blockNumber: bigint,
): Promise<string | null> {
  const functionName = type === "erc721" ? "tokenURI" : "uri";
  const question = { address, abi, functionName, args: [tokenId], blockNumber } as const;
  return await askNode(chain, () => services.rpc(chain).readContract(question).catch(nullOfNoToken));
}

function at(blockNumber: bigint | undefined): { blockNumber?: bigint } {
  return blockNumber === undefined ? {} : { blockNumber };
}

function nullOfNoToken(error: unknown): null {
  if (error instanceof Error && /ERC721: invalid token ID/.test(error.message)) return null;
  throw error;
}
