import { decodeFunctionResult, encodeFunctionData, getAddress, type Hex, toHex } from "viem";
import { afterEach, expect, test } from "vitest";
import { createTestDatabase } from "../setup/database.ts";
import { wait } from "../setup/wait.ts";
import { startAnvil } from "./anvil.ts";
import { contracts, startIndexer, until } from "./indexed-chain.ts";
import { fullBloom, startOddChain, zeroBloom } from "./odd-chain.ts";

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

test.each([
  ["logs", "zeros", zeroBloom],
  ["logs", "ones", fullBloom],
  ["proofs", "ones", fullBloom],
] as const)(
  "%s: owners on a chain whose logsBloom is %s are the contract's own, of blocks before the index and after",
  async (mode, _, bloom) => {
    const [database, node] = await Promise.all([createTestDatabase(), startAnvil()]);
    open.push(database.drop, node.stop);
    const nft = await node.deploy(contracts().Erc721, ["Odd", "ODD", "https://example.com/"]);
    const mint = async (to: number) => {
      await node.call(nft, "mint", [node.account(to)]);
      await node.mine();
      // Blocks with a transaction and no log, and with nothing.
      await node.send(node.account(5), "0x");
      await node.mine();
      await node.mine();
    };
    for (const to of [1, 2, 3]) await mint(to);
    // Ponder takes what is 30 blocks old for final, and reads it by ranges.
    await node.rpc("anvil_mine", ["0x28"]);
    const odd = await startOddChain(node.url, { bloom });
    open.push(odd.stop);
    const indexer = await startIndexer(database.url, odd.url, { VERIFY_GOERLI: mode });
    open.push(indexer.end);
    for (const to of [4, 1]) await mint(to);
    await node.call(nft, "transferFrom", [node.account(1), node.account(6), 0n], 1);
    await node.mine();
    await node.mine();
    const head = await node.head();
    await until(async () => {
      const { rows } = await database.pool.query<{ block_number: bigint }>("SELECT block_number FROM nft.heads");
      return (rows[0]?.block_number ?? -1n) >= head;
    }, `block ${head}`);
    const { rows } = await database.pool.query<{ token_id: string; owner: Buffer }>(
      "SELECT token_id::text, owner FROM nft.holdings WHERE contract = decode($1, 'hex') ORDER BY token_id",
      [nft.address.slice(2)],
    );
    const ownerOf = async (id: bigint) => {
      const data = encodeFunctionData({ abi: nft.abi, functionName: "ownerOf", args: [id] });
      const result = await node.rpc<Hex>("eth_call", [{ to: nft.address, data }, "latest"]);
      return decodeFunctionResult({ abi: nft.abi, functionName: "ownerOf", data: result });
    };
    const owners = await Promise.all([0n, 1n, 2n, 3n, 4n].map(ownerOf));
    expect(rows.map(({ owner }) => getAddress(toHex(owner)))).toEqual(owners);
    const shown = async () =>
      (await database.pool.query("SELECT unproven FROM service.chain_freshness")).rows[0]?.unproven?.includes("blooms");
    expect(await wait("the flag", shown)).toBe(true);
  },
);
