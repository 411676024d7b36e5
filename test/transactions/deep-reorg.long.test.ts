import { afterAll, beforeAll, expect, test } from "vitest";
import { rpc } from "../chaos/fleet.ts";
import { RelayFixture, TestNodes } from "../chaos/relay-fixture.ts";
import { patient, slowness } from "../setup/wait.ts";

const depth = 256;
let nodes: TestNodes;
let fixture: RelayFixture;
beforeAll(async () => {
  nodes = await TestNodes.start();
  fixture = await RelayFixture.setUp(nodes, { factory: {}, env: { FINALITY_GOERLI: "300" } });
});
afterAll(async () => {
  await fixture?.tearDown();
  nodes?.stop();
});

test("a reorganisation of 256 blocks takes every deployment away: each is withdrawn, sent again, and stands once", {
  timeout: 240_000 * slowness,
}, async () => {
  const states = async () => {
    const { rows } = await fixture.database.pool.query(
      "SELECT state, count(*)::int AS n FROM service.intent GROUP BY 1",
    );
    return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
  };
  const settle = async (wanted: Record<string, number>, blocks: number) => {
    const poll = async () => {
      await fixture.mine(blocks);
      await fixture.work();
      return await states();
    };
    await expect.poll(poll, patient).toEqual(wanted);
  };
  for (let count = 0; count < 5; count += 1) await fixture.post();
  await settle({ confirmed: 5 }, 1);
  const { rows } = await fixture.database.pool.query(
    "SELECT min(mined_block)::int AS first FROM service.nonce_reservation",
  );
  const head = Number(await rpc<string>(nodes.url, "eth_blockNumber"));
  await fixture.mine(Math.max(0, depth - 1 - (head - rows[0].first)));
  await fixture.work();
  expect(await states()).toEqual({ confirmed: 5 });
  await rpc(nodes.url, "anvil_reorg", [depth, []]);
  await rpc(nodes.url, "anvil_dropAllTransactions");
  await fixture.work();
  expect(await states()).toEqual({ in_flight: 5 });
  await settle({ confirmed: 5 }, 1);
  await settle({ finalized: 5 }, 20);
  expect(await fixture.finish(20_000)).toEqual([]);
});
