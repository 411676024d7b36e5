import type pg from "pg";
import { encodeFunctionData, type Hex, hexToBigInt, parseAbi, toHex } from "viem";
import type { Chain } from "../chains.ts";
import { NodeRefusal, sendRpc } from "./json-rpc.ts";

const abi = parseAbi([
  "function ownerOf(uint256) view returns (address)",
  "function balanceOf(address, uint256) view returns (uint256)",
]);
const limits = { timeoutMs: 10_000, maxAnswerBytes: 65_536 };

interface Sampled {
  contract: Buffer;
  token_id: string;
  owner: Buffer;
  amount: string;
  standard: string;
}

/**
 * Compares a random sample of the index with the contracts' answers, at the indexed block and by its hash. Contracts
 * with flags are left out: their answers are wrong, or they did more than the index recorded. Those with withheld
 * tokens are included: their listed tokens are right.
 *
 * @returns how many calls did not fail, and the holdings that the answers contradict.
 */
export async function sampleOwners(
  client: pg.ClientBase,
  chain: Chain,
  count: number,
): Promise<{ asked: number; wrong: unknown[] }> {
  const { rows: at } = await client.query<{ hash: string }>(
    `SELECT j.hash FROM nft.heads h JOIN service.chain_block j ON j.chain_id = h.chain_id AND j.number = h.block_number
     WHERE h.chain_id = $1`,
    [chain.id],
  );
  const url = chain.rpcUrls.find((candidate) => candidate.startsWith("http"));
  const hash = at[0]?.hash;
  if (!hash || !url) return { asked: 0, wrong: [] };
  const { rows } = await client.query<Sampled>(
    `SELECT contract, token_id, owner, amount::text, standard FROM nft.holdings h WHERE chain_id = $1 AND NOT EXISTS (
       SELECT 1 FROM nft.contract_flags f WHERE f.chain_id = h.chain_id AND f.contract = h.contract AND f.flag <> 'withheld')
     ORDER BY random() LIMIT $2`,
    [chain.id, count],
  );
  let asked = 0;
  const wrong: unknown[] = [];
  for (const row of rows) {
    const tokenId = BigInt(row.token_id);
    const data =
      row.standard === "ERC721"
        ? encodeFunctionData({ abi, functionName: "ownerOf", args: [tokenId] })
        : encodeFunctionData({ abi, functionName: "balanceOf", args: [toHex(row.owner), tokenId] });
    const call = [{ to: toHex(row.contract), data, gas: "0x4c4b40" }, { blockHash: hash }];
    const { result } = await sendRpc(url, "eth_call", call, limits).catch((error: unknown) => {
      // The node lacks the state of that block, or cannot read it now.
      if (error instanceof NodeRefusal) return { result: null };
      throw error;
    });
    if (typeof result !== "string" || result.length !== 66) continue;
    asked += 1;
    const owner = hexToBigInt(result as Hex);
    const expected = row.standard === "ERC721" ? hexToBigInt(toHex(row.owner)) : BigInt(row.amount);
    if (owner !== expected) wrong.push({ ...row, answered: result });
  }
  return { asked, wrong };
}
