import { setTimeout as wait } from "node:timers/promises";
import type { Hex } from "viem";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SeededGenerator } from "../setup/seeded-generator.ts";
import { slowness } from "../setup/wait.ts";
import type { Anvil } from "./anvil.ts";
import { hostileContract, transferTopic, word } from "./hostile-cases.ts";
import { IndexedAnvil } from "./indexed-anvil.ts";
import { until } from "./indexed-chain.ts";

const firstSeed = Number(process.env["HOSTILE_FIRST_SEED"] ?? 1);
/** A third of Ethereum's; longer on a machine that needs long for a block without a flood. */
const leastBlockTimeMs = 4_000;
const floods = 3;
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

test(
  "while one contract floods each block with 16,000 logs the others are at most two blocks behind",
  async () => {
    const hostile = await chain.deploy(hostileContract());
    const honest = await chain.deploy(hostileContract());
    const random = new SeededGenerator(firstSeed).below;
    const shown = async () => {
      const [row] = await query("SELECT max(block_number) AS block FROM nft.transfers WHERE contract = $1", [
        raw(honest.address),
      ]);
      return row?.["block"] as bigint | null;
    };
    const mint = async (round: number) => {
      const log = { topics: [transferTopic, word(0n), word(7n), word(BigInt(round))], data: "0x" };
      await chain.call(honest, "say", [[log]]);
      await chain.mine();
      return chain.head();
    };
    let calmMs = 0;
    for (let round = 0; round < 3; round++) {
      const block = await mint(1_000 + round);
      const mined = Date.now();
      await until(async () => (await shown()) === block, "a mint without a flood", 600_000);
      calmMs = Math.max(calmMs, Date.now() - mined);
    }
    const blockTimeMs = Math.max(leastBlockTimeMs, 6 * calmMs);
    const first = (await chain.head()) + 1n;
    let head = first - 1n;
    const lags: number[] = [];
    for (let round = 0; round < floods; round++) {
      await chain.call(hostile, "flood", [BigInt(random(1_000_000)), 16_000n]);
      head = await mint(round);
      // Each block holds a mint of the honest contract: the newest that shows tells how far behind it is.
      for (const mined = Date.now(); Date.now() - mined < blockTimeMs; await wait(100))
        lags.push(Number(head - ((await shown()) ?? first - 1n)));
    }
    console.log(
      `blocks of ${blockTimeMs} ms behind, of ${lags.length} looks: ${[0, 1, 2, 3].map((lag) => `${lag}: ${lags.filter((one) => one === lag).length}`).join(", ")}`,
    );
    expect(Math.max(...lags)).toBeLessThanOrEqual(2);
    await until(async () => (await shown()) === head, "the last honest mint", 600_000);
    expect(
      await query("SELECT flag, count FROM nft.contract_flags WHERE contract = $1", [raw(hostile.address)]),
    ).toEqual([{ flag: "suspended", count: BigInt(floods) }]);
    expect(indexed.indexer.log()).not.toMatch(/Ponder ended/);
  },
  600_000 * slowness,
);
