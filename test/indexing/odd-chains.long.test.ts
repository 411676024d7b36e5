import { decodeFunctionResult, encodeFunctionData, getAddress, type Hex, toHex } from "viem";
import { afterEach, expect, test } from "vitest";
import { FaultyEndpoint, refuse } from "../products/faulty-endpoint.ts";
import { createTestDatabase } from "../setup/database.ts";
import { wait } from "../setup/wait.ts";
import { startAnvil } from "./anvil.ts";
import { contracts, startIndexer, until } from "./indexed-chain.ts";
import { fullBloom, startOddChain, zeroBloom } from "./odd-chain.ts";

interface Log {
  blockHash: string;
  transactionHash: string;
}

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** A chain with three tokens in blocks that Ponder reads by ranges. `mint` makes another one. */
async function startWithTokens() {
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
  // Ponder takes what is 30 blocks old for final.
  await node.rpc("anvil_mine", ["0x28"]);
  return { database, node, nft, mint };
}

test.each([
  ["logs", "zeros", zeroBloom],
  ["logs", "ones", fullBloom],
  ["proofs", "ones", fullBloom],
] as const)(
  "%s: owners on a chain whose logsBloom is %s are the contract's own, of blocks before the index and after",
  async (mode, _, bloom) => {
    const { database, node, nft, mint } = await startWithTokens();
    const odd = await startOddChain(node.url, { bloom });
    open.push(odd.stop);
    const indexer = await startIndexer(database.url, odd.url, { VERIFY_GOERLI: mode, RPC_SAMPLE_PERCENT: "100" });
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
    if (mode === "proofs") return;
    const sampled = async () =>
      (await database.pool.query("SELECT blocks::int, missing FROM service.log_sample")).rows[0];
    // The real ledger of a real index has what another look at the chain finds.
    expect((await wait("compared blocks", sampled, { until: (seen) => seen?.blocks > 5 })).missing).toEqual({});
  },
);

test.each([
  ["hash", (log: Log) => ({ ...log, blockHash: `0xe91b${log.blockHash.slice(6)}` })],
  ["transaction", (log: Log) => ({ ...log, transactionHash: `0xe91b${log.transactionHash.slice(6)}` })],
] as const)(
  "an endpoint that gives logs of a block's wrong %s costs a moment, and no row, before the index starts and after",
  async (_, edit) => {
    const { database, node, nft, mint } = await startWithTokens();
    const endpoint = await FaultyEndpoint.start(node.url, {
      answer: ({ method }, answer) => {
        if (method === "eth_getLogs") answer.result = (answer.result as Log[]).map(edit);
      },
    });
    open.push(() => endpoint.stop());
    const indexer = await startIndexer(database.url, `${endpoint.url},${node.url}`, { VERIFY_GOERLI: "logs" });
    open.push(indexer.end);
    for (const to of [4, 1]) await mint(to);
    const owners = async () =>
      (
        await database.pool.query<{ owner: Buffer }>(
          "SELECT owner FROM nft.holdings WHERE contract = decode($1, 'hex') ORDER BY token_id",
          [nft.address.slice(2)],
        )
      ).rows.map(({ owner }) => getAddress(toHex(owner)));
    expect(await wait("five tokens", owners, { until: (rows) => rows.length === 5, withinMs: 240_000 })).toEqual(
      [1, 2, 3, 4, 1].map((to) => getAddress(node.account(to))),
    );
    const { rows } = await database.pool.query<{ transactions: Buffer[] }>(
      `SELECT array_agg(DISTINCT tx_hash) AS transactions FROM nft.transfer_rows WHERE contract = decode($1, 'hex')`,
      [nft.address.slice(2)],
    );
    for (const hash of rows[0]?.transactions ?? [])
      expect(await node.rpc("eth_getTransactionByHash", [toHex(hash)])).not.toBeNull();
  },
);

test("where nodes know neither safe nor finalized blocks the index takes what is 30 blocks deep for final", async () => {
  const [database, node] = await Promise.all([createTestDatabase(), startAnvil()]);
  open.push(database.drop, node.stop);
  await node.rpc("anvil_mine", ["0x32"]);
  const endpoint = await FaultyEndpoint.start(node.url, {
    answer: ({ params }, answer) => {
      if (params?.[0] === "finalized" || params?.[0] === "safe")
        refuse(answer, { code: -32_602, message: `invalid block tag: ${params[0]}` });
    },
  });
  open.push(() => endpoint.stop());
  const indexer = await startIndexer(database.url, endpoint.url, { LOCAL_GOERLI: "false" });
  open.push(indexer.end);
  const final = async () => {
    const { rows } = await database.pool.query<{ block: number | null; hash: string }>(
      "SELECT final_block::int AS block, final_hash AS hash FROM nft.index_version",
    );
    return rows[0];
  };
  const before = (await wait("a final block", final, { until: (seen) => (seen?.block ?? 0) > 0 }))?.block ?? 0;
  expect(before).toBeLessThanOrEqual(Number(await node.head()) - 30);
  for (let mined = 0; mined < 70; mined += 1) await node.mine();
  const after = await wait("the next final block", final, { until: (seen) => (seen?.block ?? 0) > before });
  expect(after?.block).toBeLessThanOrEqual(Number(await node.head()) - 30);
  const judge = await node.rpc<{ hash: string }>("eth_getBlockByNumber", [
    `0x${(after?.block ?? 0).toString(16)}`,
    false,
  ]);
  expect(after?.hash).toBe(judge.hash);
});
