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
 * Whether a token exists at a block, the newest one where none is given: an ERC-1155 id while it has supply.
 *
 * @throws ServiceError `service_unavailable` while the node does not answer.
 */
export async function isMinted(
  services: Services,
  product: Product,
  tokenId: bigint,
  blockNumber?: bigint,
): Promise<boolean> {
  const { chain, address, type } = product;
  if (type === "erc721") return (await readTokenOwner(services, product, tokenId, blockNumber)) !== null;
  const at = blockNumber === undefined ? {} : { blockNumber };
  return await askNode(chain, async () => {
    const question = { address, abi, functionName: "totalSupply", args: [tokenId], ...at } as const;
    return (await services.rpc(chain).readContract(question)) > 0n;
  });
}

/**
 * Who holds an ERC-721 token, in lower case; null while it does not exist.
 *
 * @throws as `isMinted`.
 */
export async function readTokenOwner(
  services: Services,
  { chain, address }: Product,
  tokenId: bigint,
  blockNumber?: bigint,
): Promise<Address | null> {
  const at = blockNumber === undefined ? {} : { blockNumber };
  return await askNode(chain, async () => {
    try {
      const question = { address, abi, functionName: "ownerOf", args: [tokenId], ...at } as const;
      return (await services.rpc(chain).readContract(question)).toLowerCase() as Address;
    } catch (error) {
      if (isRevert(error)) return null;
      throw error;
    }
  });
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
  return await askNode(chain, async () => {
    try {
      const functionName = type === "erc721" ? "tokenURI" : "uri";
      return await services.rpc(chain).readContract({ address, abi, functionName, args: [tokenId], blockNumber });
    } catch (error) {
      if (isRevert(error)) return null;
      throw error;
    }
  });
}

function isRevert(error: unknown): boolean {
  return error instanceof Error && /ERC721: invalid token ID/.test(error.message);
}
