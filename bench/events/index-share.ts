import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { startAnvil } from "../../test/indexing/anvil.ts";
import { keepIndexer } from "../../test/indexing/chaos/keep-indexer.ts";
import { buildWorld } from "../../test/indexing/chaos/world.ts";

const rowsOfBlock = 500;
const rounds = 5;

/** Transfers per second of a live index, block by block. */
interface IndexShare {
  off: number;
  on: number;
  share: number;
  /** The rate at which the node made blocks. If it is close to the others, the node was the bottleneck. */
  node: number;
}

/** Lets a live index take so many transfers with the outbox on, and as many while nobody wants them, alternating. */
export async function compareIndex(rows: number): Promise<IndexShare> {
  const dir = await mkdtemp(join(tmpdir(), "mintyard-bench-"));
  const [port = 0] = await freePorts(1);
  const postgres = await startPostgres(join(dir, "pg"), port);
  const chain = await startAnvil();
  const indexer = keepIndexer(postgres.url, chain.url, dir);
  const client = new pg.Client({ connectionString: postgres.url });
  try {
    const world = await buildWorld(chain);
    await indexer.untilReady();
    await client.connect();
    const took = { off: 0, on: 0 };
    const made: number[] = [];
    const blocks = Math.ceil(rows / rowsOfBlock / rounds);
    await follow(blocks);
    for (let round = 0; round < rounds; round += 1)
      for (const mode of round % 2 === 0 ? (["on", "off"] as const) : (["off", "on"] as const)) {
        if (mode === "on") await client.query("SELECT service.want_events(31337, '{}', 'latest', 3600)");
        else await client.query("DELETE FROM service.event_interest");
        const before = await eventCount();
        took[mode] += await follow(blocks);
        const events = (await eventCount()) - before;
        if (events !== (mode === "on" ? blocks * rowsOfBlock : 0))
          throw new Error(`${events} events in a round ${mode}`);
      }
    const all = blocks * rowsOfBlock * rounds;
    return {
      off: all / (took.off / 1_000),
      on: all / (took.on / 1_000),
      share: took.off / took.on,
      // Without the first run, which is a warm-up.
      node: (2 * all) / (made.slice(1).reduce((sum, ms) => sum + ms, 0) / 1_000),
    };

    /** Makes blocks with one mint each. @returns how long the index took to include them. */
    async function follow(count: number): Promise<number> {
      const began = performance.now();
      for (let block = 0; block < count; block += 1) {
        await world.mintMany(rowsOfBlock);
        await chain.mine();
      }
      const head = await chain.head();
      made.push(performance.now() - began);
      for (;;) {
        const { rows: heads } = await client.query<{ block: string }>(
          "SELECT block_number::text AS block FROM nft.heads",
        );
        if (heads.some(({ block }) => BigInt(block) >= head)) return performance.now() - began;
        await wait(5);
      }
    }
  } finally {
    await client.end();
    await indexer.stop();
    await chain.stop();
    await postgres.stop();
    await rm(dir, { recursive: true, force: true });
  }

  async function eventCount(): Promise<number> {
    const { rows: found } = await client.query<{ count: string }>(
      "SELECT count(*) FROM service.event_new WHERE type = 'nft.transfer'",
    );
    return Number(found[0]?.count);
  }
}
