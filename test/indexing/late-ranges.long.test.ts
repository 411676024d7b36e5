import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { invariants } from "../../schema/invariants.ts";
import { changeListedContract, listWithheldContracts } from "../../src/indexing/listed-contracts.ts";
import { slowness } from "../setup/wait.ts";
import type { Anvil } from "./anvil.ts";
import { consecutiveTopic, hostileContract, type Log, transferTopic, word, words } from "./hostile-cases.ts";
import { IndexedAnvil } from "./indexed-anvil.ts";
import { until } from "./indexed-chain.ts";

const chainId = 31337;
/** Ponder takes a block of this chain as final between 30 and 60 blocks later. */
const finality = 70;
let indexed: IndexedAnvil;
let chain: Anvil;
let query: IndexedAnvil["query"];

beforeAll(async () => {
  indexed = await IndexedAnvil.start();
  chain = indexed.chain;
  query = indexed.query.bind(indexed);
});
afterAll(() => indexed?.stop());

const raw = (hex: Hex) => Buffer.from(hex.slice(2), "hex");
const range = (first: bigint, tokens: bigint): Log => ({
  topics: [consecutiveTopic, word(first), word(0n), word(9n)],
  data: words(first + tokens - 1n),
});
const moved = (tokenId: bigint, from: bigint, to: bigint): Log => ({
  topics: [transferTopic, word(from), word(to), word(tokenId)],
  data: "0x",
});

async function mine(blocks: number): Promise<void> {
  for (let count = 0; count < blocks; count += 1) await chain.mine();
  await indexed.untilHead();
}

test(
  "withheld ranges are listed by activity or by an operator while Ponder runs, and no reorganisation takes them back",
  async () => {
    const full = await chain.deploy(hostileContract());
    const allowed = await chain.deploy(hostileContract());
    const active = await chain.deploy(hostileContract());
    const idle = await chain.deploy(hostileContract());
    const say = async (contract: typeof full, ...logs: Log[]) => {
      await chain.call(contract, "say", [logs]);
      await chain.mine();
    };
    const listed = async ({ address }: { address: Hex }) =>
      (
        await query("SELECT listed FROM nft.token_ranges WHERE contract = $1 ORDER BY block_number, log_index", [
          raw(address),
        ])
      ).map((row) => row["listed"]);
    const tokensOf = async ({ address }: { address: Hex }) =>
      Number((await query("SELECT count(*) FROM nft.tokens WHERE contract = $1", [raw(address)]))[0]?.["count"]);

    // 20,000 tokens of one contract in one block: nothing of them is lost, half is withheld.
    await say(full, range(0n, 10_000n), range(10_000n, 10_000n));
    await say(allowed, range(0n, 10_000n));
    await say(active, range(0n, 20n));
    await say(idle, range(0n, 20n));
    await say(allowed, moved(77n, 9n, 5n));
    await indexed.untilHead();
    expect(await listed(full)).toEqual([true, false]);
    for (const contract of [allowed, active, idle]) expect(await listed(contract)).toEqual([false]);
    expect(await query("SELECT flag FROM nft.contract_flags WHERE flag = 'suspended'")).toEqual([]);

    await say(active, moved(3n, 9n, 4n));
    const db = indexed.database.db;
    await changeListedContract(db, "operator:test", { chainId, contract: raw(allowed.address), allowed: true });
    expect(await listWithheldContracts(db, chainId)).toContainEqual({
      contract: allowed.address.toLowerCase(),
      tokens: 10_000n,
      allowed: true,
    });
    await mine(finality);
    await until(async () => (await listed(allowed))[0] === true, "the contract that was let in", 120_000);
    await until(async () => (await listed(active))[0] === true, "the contract that earned it", 120_000);
    expect([await tokensOf(allowed), await tokensOf(active), await tokensOf(idle)]).toEqual([10_000, 20, 0]);
    const [token] = await query(
      "SELECT owner, mint_block IS NOT NULL AS minted, transfer_count FROM nft.tokens WHERE contract = $1 AND token_id = 77",
      [raw(allowed.address)],
    );
    expect(token).toEqual({ owner: raw(`0x${"00".repeat(19)}05`), minted: true, transfer_count: 2n });
    expect(await query("SELECT * FROM nft.contract_flags WHERE flag = 'inconsistent'")).toEqual([]);

    // A block above them goes, with a movement in it.
    await say(allowed, moved(78n, 9n, 6n));
    await indexed.untilHead();
    const ownerOf78 = async () =>
      (await query("SELECT owner FROM nft.tokens WHERE contract = $1 AND token_id = 78", [raw(allowed.address)]))[0]?.[
        "owner"
      ];
    expect(await ownerOf78()).toEqual(raw(`0x${"00".repeat(19)}06`));
    await chain.rpc("anvil_reorg", [2, []]);
    await mine(3);
    await until(
      async () => raw(`0x${"00".repeat(19)}09`).equals((await ownerOf78()) as Buffer),
      "the old owner",
      60_000,
    );
    expect([await tokensOf(allowed), await tokensOf(active)]).toEqual([10_000, 20]);
    await say(allowed, moved(78n, 9n, 6n));
    await indexed.untilHead();
    expect(await ownerOf78()).toEqual(raw(`0x${"00".repeat(19)}06`));
    const [live] = await query("SELECT schema_name FROM nft.index_version WHERE live");
    for (const { sql } of invariants(String(live?.["schema_name"]))) expect(await query(sql)).toEqual([]);
    expect(indexed.indexer.log()).not.toMatch(/Ponder ended/);
  },
  900_000 * slowness,
);
