import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cancelIntent } from "../../src/transactions/accept/cancel-intent.ts";
import { rpc } from "../chaos/fleet.ts";
import { type FixtureOptions, RelayFixture, TestNodes } from "../chaos/relay-fixture.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";

let nodes: TestNodes;
beforeAll(async () => {
  nodes = await TestNodes.start();
});
afterAll(() => nodes?.stop());

/** What an operator reads, by the command. */
async function show(fixture: RelayFixture): Promise<string> {
  const { rows } = await fixture.database.pool.query("SELECT id FROM service.intent");
  const command = join(import.meta.dirname, "../../bin/mintyard.ts");
  const env = { ...bareEnvironment, DATABASE_URL: fixture.database.url };
  const { stdout } = await promisify(execFile)(process.execPath, [command, "requests", "show", rows[0].id], { env });
  return stdout;
}

const situations: [string, FixtureOptions, (fixture: RelayFixture) => Promise<void>, RegExp[]][] = [
  [
    "a node refuses without reason, and the transaction is mined all the same",
    {},
    async (fixture) => {
      fixture.proxy.forced = "nonce-too-low";
      await fixture.post();
      await fixture.finish(60_000);
    },
    [/reported error -32000: nonce too low: next nonce 7/, /deploy signed: 0x[0-9a-f]{64}/, /finalized: done for good/],
  ],
  [
    "a node's pool is full, and it forgets what it had",
    {},
    async (fixture) => {
      fixture.proxy.forced = "pool-full";
      await fixture.post();
      await rpc(nodes.url, "anvil_dropAllTransactions");
      fixture.proxy.forced = "";
      await fixture.resend();
      await fixture.finish(60_000);
    },
    [/reported error -32000: txpool is full/, /reported accepted/, / in_flight\n/],
  ],
  [
    "the block is taken back",
    {},
    async (fixture) => {
      await fixture.post();
      await fixture.mine();
      await fixture.work();
      await rpc(nodes.url, "anvil_reorg", [1, []]);
      await fixture.finish(60_000);
    },
    [
      / mined\n.* in_flight, its block is not on the chain any more\n.* mined\n/,
      /mined {6}0x[0-9a-f]{64} in block \d+/,
    ],
  ],
  [
    "the wallet is empty",
    {},
    async (fixture) => {
      await rpc(nodes.url, "anvil_setBalance", [fixture.wallet, "0x1"]);
      await fixture.post();
    },
    [/held: accepted/, /balance: the wallet that pays deployments has too little/, /fund it, and it goes on by itself/],
  ],
  [
    "fees rise",
    {},
    async (fixture) => {
      await fixture.post();
      await fixture.mineDear(4);
      await fixture.work(2);
      await fixture.finish(60_000);
    },
    [/(deploy signed: 0x[0-9a-f]{64}\n {4}fee up to [\d.]+ gwei[\s\S]*){2}/],
  ],
  [
    "it is cancelled in flight",
    {},
    async (fixture) => {
      await fixture.post();
      const { rows } = await fixture.database.pool.query("SELECT id FROM service.intent");
      await cancelIntent(fixture.services, fixture.caller.accountId, rows[0].id);
      await fixture.work();
      await fixture.finish(60_000);
    },
    [/cancelled {2}asked for at/, /cancellation signed: 0x/, /cancelled: cancelled; nothing more is tried/],
  ],
];

test.each(situations)(
  "an operator reads what happened: %s",

  async (_, options, act, expected) => {
    const fixture = await RelayFixture.setUp(nodes, { factory: {}, ...options });
    try {
      await act(fixture);
      const story = await show(fixture);
      for (const words of [/^deploy [0-9a-f-]{36}\n/, / queued\n/, ...expected]) expect(story).toMatch(words);
    } finally {
      await fixture.tearDown();
    }
  },
);
