import { setTimeout as sleep } from "node:timers/promises";
import { type Address, decodeAbiParameters, encodeFunctionData, type Hex, toHex } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { encodeInitData, initDataParameters } from "../../contracts/abi/config.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { intentName } from "../../src/transactions/chain/request-call.ts";
import { submitIntent } from "../../src/transactions/submit/submit-intent.ts";
import { acceptDeployment } from "../transactions/accept.ts";
import { loseRows } from "../transactions/lost-rows.ts";
import { rpc } from "./fleet.ts";
import { type FixtureOptions, type RelayFixture, request } from "./relay-fixture.ts";
import type { FactoryKind } from "./test-factory.ts";

export interface Scenario extends FixtureOptions {
  /** Name of the patch in `mutants/` that seeds the defect. */
  defect: string;
  /** Part of what the judge says of this defect. */
  sign: string;
  /** Where the defect is in the factory too. */
  defectFactory?: FactoryKind;
  /** The situation that the defect cannot stand, and a sound relay can. */
  act(fixture: RelayFixture): Promise<void>;
}

/** One for each way of getting it wrong, M1 to M17 of the relay's design. */
export const scenarios: Readonly<Record<string, Scenario>> = {
  "M1: sent before it is stored": {
    defect: "send-before-persist",
    sign: "bytes sent before they were stored",
    act: (fixture) => fixture.post(),
  },
  "M2: the nonce is what the node counts as pending": {
    defect: "nonce-from-node",
    sign: "gaps between nonces",
    act: async (fixture) => {
      await fixture.post();
      fixture.proxy.forced = "pending-ahead";
      await fixture.post();
    },
  },
  "M3: final without confirmations": {
    defect: "final-at-once",
    sign: "is called done, and nothing stands there",
    act: async (fixture) => {
      await fixture.post();
      await fixture.mine();
      await fixture.work();
      await rpc(fixture.nodes.url, "anvil_reorg", [1, []]);
    },
  },
  "M4: a new nonce because a node said `nonce too low`": {
    defect: "new-nonce-on-error",
    sign: "doubled",
    act: async (fixture) => {
      fixture.proxy.forced = "nonce-too-low";
      await fixture.post();
    },
  },
  "M5: the nonce of a transaction that seems lost is used again": {
    defect: "nonce-recycled",
    sign: "attempts of another nonce than their intent's",
    act: async (fixture) => {
      await fixture.post();
      await sleep(1_200);
      await fixture.post();
    },
  },
  "M6: failed after so many tries": {
    defect: "failed-after-tries",
    sign: "intents that ended without their collection",
    act: async (fixture) => {
      await fixture.post();
      for (let tries = 0; tries < 5; tries += 1) {
        await sleep(600);
        await fixture.work();
      }
    },
  },
  "M7: the replacement overwrites what it replaces": {
    defect: "old-attempts-forgotten",
    sign: "imported transactions",
    act: async (fixture) => {
      const first = await outgrow(fixture);
      await rpc(fixture.nodes.url, "anvil_dropAllTransactions");
      await fixture.mine();
      await rpc(fixture.nodes.url, "eth_sendRawTransaction", [first]);
      await fixture.mine();
    },
  },
  "M8: a receipt of a block that is not on the chain": {
    defect: "receipt-not-canonical",
    sign: "intents that have not ended",
    act: async (fixture) => {
      await fixture.post();
      await fixture.mine();
      const { rows } = await fixture.database.pool.query<{ hash: Buffer }>("SELECT hash FROM service.attempt");
      await rpc(fixture.proxy.url, "eth_getTransactionReceipt", [toHex(rows[0]?.hash ?? Buffer.alloc(0))]);
      await rpc(fixture.nodes.url, "anvil_reorg", [1, []]);
      fixture.proxy.forced = "receipts-of-dead-blocks";
      await fixture.work(2);
    },
  },
  "M9: `underpriced` taken for a better one of ours": {
    defect: "underpriced-is-ours",
    sign: "intents that have not ended",
    act: async (fixture) => {
      fixture.proxy.forced = "underpriced";
      await fixture.post();
      await rpc(fixture.nodes.url, "anvil_dropAllTransactions");
    },
  },
  "M10: a salt without owner and configuration": {
    defect: "weak-salt",
    sign: "intents that ended without their collection",
    factory: { open: true },
    defectFactory: { open: true, weakSalt: true },
    act: async (fixture) => {
      fixture.proxy.forced = "send-swallowed";
      await fixture.post();
      await takeAddress(fixture);
    },
  },
  "M11: a state is set without comparing": {
    defect: "compare-and-set-dropped",
    sign: "an intent changes one version at a time",
    act: async (fixture) => {
      for (let times = 0; times < 3; times += 1) await raceForOne(fixture);
    },
  },
  "M12: looked for first, inserted later": {
    defect: "check-then-insert",
    sign: "doubled",
    act: (fixture) => fixture.post(6),
  },
  "M13: the chain's id is asked for once": {
    defect: "chain-id-at-start-only",
    sign: "answers of another chain were believed",
    act: async (fixture) => {
      await fixture.post();
      await fixture.work();
      fixture.proxy.otherChain = true;
      await fixture.work(8);
      if (fixture.proxy.believed > 0) fixture.findings.push("answers of another chain were believed");
    },
  },
  "M14: a tenth more, in floats": {
    defect: "fees-in-floats",
    sign: "raise a fee by less than an eighth",
    act: async (fixture) => {
      await outgrow(fixture);
    },
  },
  "M15: the cost is reserved after the request was accepted": {
    defect: "reserved-outside",
    sign: "intents without a reservation",
    env: { BUDGET_GLOBAL_HOUR: "1" },
    act: async (fixture) => {
      await fixture.post();
      await fixture.post();
    },
  },
  "M16: timeout by the host's clock": {
    defect: "host-clock",
    sign: "replacements before their time in blocks",
    act: async (fixture) => {
      await fixture.post();
      const now = Date.now;
      try {
        Date.now = () => now() + 7_200_000;
        await fixture.work(3);
      } finally {
        Date.now = now;
      }
    },
  },
  "M17: after rows were lost nobody outside is asked for them": {
    defect: "lost-rows-unasked",
    sign: "mined transactions that were never stored",
    factory: { permissive: false },
    lostRows: true,
    act: async (fixture) => {
      const name = fixture.expectRequest();
      const lost = { ...request(name), idempotencyKey: "lost-and-asked-for-again" };
      const { deployment } = await deployCollection(fixture.services, fixture.caller, lost);
      await fixture.sent();
      await loseRows(fixture.database.pool, [deployment.id], fixture.wallet);
      await fixture.post();
      await fixture.mine();
      await fixture.work();
      // Refused for now, perhaps: what is accepted has to end all the same.
      await deployCollection(fixture.services, fixture.caller, lost).catch(() => undefined);
    },
  },
};

/** The first bytes of the only transaction; then blocks go by that it cannot afford, until it is replaced. */
async function outgrow(fixture: RelayFixture): Promise<Hex> {
  await fixture.post();
  const { rows } = await fixture.database.pool.query<{ raw: Buffer }>("SELECT raw FROM service.attempt");
  const first = rows[0]?.raw ?? Buffer.alloc(0);
  await fixture.mineDear(4);
  for (let tries = 0; tries < 20; tries += 1) {
    await fixture.work();
    const newer = await fixture.database.pool.query("SELECT FROM service.attempt WHERE raw <> $1", [first]);
    if (newer.rowCount) return toHex(first);
  }
  throw new Error("never replaced");
}

/** Three processes take one request's steps at the same moment. */
async function raceForOne(fixture: RelayFixture): Promise<void> {
  const name = fixture.expectRequest();
  const intent = await acceptDeployment(fixture.services, fixture.caller, request(name));
  const race = await Promise.allSettled([0, 1, 2].map((n) => submitIntent(fixture.process(n), fixture.chain, intent)));
  for (const end of race)
    if (end.status === "rejected") fixture.findings.push(`a late write was not simply lost: ${end.reason}`);
}

/** A third party saw the intent and is first: same intent, owner and name, another supply. */
async function takeAddress(fixture: RelayFixture): Promise<void> {
  const { rows } = await fixture.database.pool.query<{ root_id: string; init_data: Buffer }>(
    "SELECT root_id, init_data FROM service.intent",
  );
  const [seen] = rows;
  if (!seen) throw new Error("no intent");
  const [deployment, runtime, grant] = decodeAbiParameters(initDataParameters, toHex(seen.init_data));
  const changed = encodeInitData({ ...deployment, maxSupply: 99n }, runtime, grant);
  const data = encodeFunctionData({
    abi: collectionFactoryAbi,
    functionName: "deploy",
    args: [intentName(seen.root_id), deployment.owner, changed],
  });
  const [, thirdParty] = await rpc<Address[]>(fixture.nodes.url, "eth_accounts");
  const call = { from: thirdParty, to: fixture.factory.address, data, gas: toHex(2_000_000) };
  fixture.thirdParties.add(await rpc<string>(fixture.nodes.url, "eth_sendTransaction", [call]));
  await fixture.mine();
}
