import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cancelIntent } from "../../src/relay/requests/cancel-intent.ts";
import { rpc } from "../chaos/fleet.ts";
import { Ground, Stage, type StageOptions } from "../chaos/stage.ts";

let ground: Ground;
beforeAll(async () => {
  ground = await Ground.start();
});
afterAll(() => ground?.stop());

/** What an operator reads, by the command. */
async function show(stage: Stage): Promise<string> {
  const { rows } = await stage.database.pool.query("SELECT id FROM service.intent");
  const command = join(import.meta.dirname, "../../bin/mintyard.ts");
  const env = { PATH: process.env["PATH"] ?? "", DATABASE_URL: stage.database.url };
  const { stdout } = await promisify(execFile)(process.execPath, [command, "deployments", "show", rows[0].id], { env });
  return stdout;
}

const situations: [string, StageOptions, (stage: Stage) => Promise<void>, RegExp[]][] = [
  [
    "a node refuses without reason, and the transaction is mined all the same",
    {},
    async (stage) => {
      stage.proxy.forced = "nonce-too-low";
      await stage.post();
      await stage.finish(60_000);
    },
    [/reported error -32000: nonce too low: next nonce 7/, /deploy signed: 0x[0-9a-f]{64}/, /finalized: done for good/],
  ],
  [
    "a node's pool is full, and it forgets what it had",
    {},
    async (stage) => {
      stage.proxy.forced = "pool-full";
      await stage.post();
      await rpc(ground.url, "anvil_dropAllTransactions");
      stage.proxy.forced = "";
      await stage.resend();
      await stage.finish(60_000);
    },
    [/reported error -32000: txpool is full/, /reported accepted/, / in_flight\n/],
  ],
  [
    "the block is taken back",
    {},
    async (stage) => {
      await stage.post();
      await stage.mine();
      await stage.work();
      await rpc(ground.url, "anvil_reorg", [1, []]);
      await stage.finish(60_000);
    },
    [
      / mined\n.* in_flight, its block is not on the chain any more\n.* mined\n/,
      /mined {6}0x[0-9a-f]{64} in block \d+/,
    ],
  ],
  [
    "the wallet is empty",
    {},
    async (stage) => {
      await rpc(ground.url, "anvil_setBalance", [stage.wallet, "0x1"]);
      await stage.post();
    },
    [/held: accepted/, /balance: the wallet that pays deployments has too little/, /fund it, and it goes on by itself/],
  ],
  [
    "fees rise",
    {},
    async (stage) => {
      await stage.post();
      await stage.mineDear(4);
      await stage.work(2);
      await stage.finish(60_000);
    },
    [/(deploy signed: 0x[0-9a-f]{64}\n {4}fee up to [\d.]+ gwei[\s\S]*){2}/],
  ],
  [
    "it is cancelled in flight",
    {},
    async (stage) => {
      await stage.post();
      const { rows } = await stage.database.pool.query("SELECT id FROM service.intent");
      await cancelIntent(stage.services, stage.caller.accountId, rows[0].id);
      await stage.work();
      await stage.finish(60_000);
    },
    [/cancelled {2}asked for at/, /cancellation signed: 0x/, /cancelled: cancelled; nothing more is tried/],
  ],
];

test.each(situations)(
  "an operator reads what happened: %s",
  { timeout: 120_000 },
  async (_, options, act, expected) => {
    const stage = await Stage.set(ground, { factory: {}, ...options });
    try {
      await act(stage);
      const story = await show(stage);
      for (const words of [/^deploy [0-9a-f-]{36}\n/, / queued\n/, ...expected]) expect(story).toMatch(words);
    } finally {
      await stage.strike();
    }
  },
);
