import { parseAbi } from "viem";
import { askNode } from "../relay/chain/node-failure.ts";
import type { Services } from "../services.ts";
import type { Product } from "./find-product.ts";

const abi = parseAbi([
  "function ownerOf(uint256 tokenId) view returns (address)",
  "function totalSupply(uint256 id) view returns (uint256)",
]);

/**
 * Whether a token exists at the newest block: an ERC-1155 id while it has supply.
 *
 * @throws ServiceError `service_unavailable` while the node does not answer.
 */
export async function isMinted(services: Services, product: Product, tokenId: bigint): Promise<boolean> {
  const { chain, address, type } = product;
  const client = services.rpc(chain);
  return await askNode(chain, async () => {
    if (type === "erc1155")
      return (await client.readContract({ address, abi, functionName: "totalSupply", args: [tokenId] })) > 0n;
    try {
      await client.readContract({ address, abi, functionName: "ownerOf", args: [tokenId] });
      return true;
    } catch (error) {
      if (isRevert(error)) return false;
      throw error;
    }
  });
}

function isRevert(error: unknown): boolean {
  return error instanceof Error && /ERC721: invalid token ID/.test(error.message);
}
