import { type Address, decodeAbiParameters, encodeFunctionData, type Hex, toHex } from "viem";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { encodeInitData, initDataParameters } from "../../contracts/abi/config.ts";
import { acceptDeployment } from "../../src/collections/accept-deployment.ts";
import { checkDeployment } from "../../src/collections/check-deployment.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { intentName } from "../../src/relay/chain/encode-deploy.ts";
import { submitIntent } from "../../src/relay/submit/submit-intent.ts";
import { loseRows } from "../relay/lost-rows.ts";
import { rpc } from "./fleet.ts";
import { request, type Stage, type StageOptions } from "./stage.ts";
import type { FactoryKind } from "./test-factory.ts";

const sleep = (ms: number) => new Promise((done) => setTimeout(done, ms));

export interface Play extends StageOptions {
  /** Name of the patch in `mutants/` that seeds the defect. */
  defect: string;
  /** Part of what the judge says of this defect. */
  sign: string;
  /** Where the defect is in the factory too. */
  defectFactory?: FactoryKind;
  /** The situation that the defect cannot stand, and a sound relay can. */
  act(stage: Stage): Promise<void>;
}

/** One for each way of getting it wrong, M1 to M17 of the relay's design. */
export const plays: Readonly<Record<string, Play>> = {
  "M1: sent before it is stored": {
    defect: "send-before-persist",
    sign: "bytes sent before they were stored",
    act: (stage) => stage.post(),
  },
  "M2: the nonce is what the node counts as pending": {
    defect: "nonce-from-node",
    sign: "gaps between nonces",
    act: async (stage) => {
      await stage.post();
      stage.proxy.forced = "pending-ahead";
      await stage.post();
    },
  },
  "M3: final without confirmations": {
    defect: "final-at-once",
    sign: "is called done, and nothing stands there",
    act: async (stage) => {
      await stage.post();
      await stage.mine();
      await stage.work();
      await rpc(stage.ground.url, "anvil_reorg", [1, []]);
    },
  },
  "M4: a new nonce because a node said `nonce too low`": {
    defect: "new-nonce-on-error",
    sign: "doubled",
    act: async (stage) => {
      stage.proxy.forced = "nonce-too-low";
      await stage.post();
    },
  },
  "M5: the nonce of a transaction that seems lost is used again": {
    defect: "nonce-recycled",
    sign: "attempts of another nonce than their intent's",
    act: async (stage) => {
      await stage.post();
      await sleep(1_200);
      await stage.post();
    },
  },
  "M6: failed after so many tries": {
    defect: "failed-after-tries",
    sign: "intents that ended without their collection",
    act: async (stage) => {
      await stage.post();
      for (let tries = 0; tries < 5; tries += 1) {
        await sleep(600);
        await stage.work();
      }
    },
  },
  "M7: the replacement overwrites what it replaces": {
    defect: "old-attempts-forgotten",
    sign: "imported transactions",
    act: async (stage) => {
      const first = await outgrow(stage);
      await rpc(stage.ground.url, "anvil_dropAllTransactions");
      await stage.mine();
      await rpc(stage.ground.url, "eth_sendRawTransaction", [first]);
      await stage.mine();
    },
  },
  "M8: a receipt of a block that is not on the chain": {
    defect: "receipt-not-canonical",
    sign: "intents that have not ended",
    act: async (stage) => {
      await stage.post();
      await stage.mine();
      const { rows } = await stage.database.pool.query<{ hash: Buffer }>("SELECT hash FROM service.attempt");
      await rpc(stage.proxy.url, "eth_getTransactionReceipt", [toHex(rows[0]?.hash ?? Buffer.alloc(0))]);
      await rpc(stage.ground.url, "anvil_reorg", [1, []]);
      stage.proxy.forced = "receipts-of-dead-blocks";
      await stage.work(2);
    },
  },
  "M9: `underpriced` taken for a better one of ours": {
    defect: "underpriced-is-ours",
    sign: "intents that have not ended",
    act: async (stage) => {
      stage.proxy.forced = "underpriced";
      await stage.post();
      await rpc(stage.ground.url, "anvil_dropAllTransactions");
    },
  },
  "M10: a salt without owner and configuration": {
    defect: "weak-salt",
    sign: "intents that ended without their collection",
    factory: { open: true },
    defectFactory: { open: true, weakSalt: true },
    act: async (stage) => {
      stage.proxy.forced = "send-swallowed";
      await stage.post();
      await takeAddress(stage);
    },
  },
  "M11: a state is set without comparing": {
    defect: "compare-and-set-dropped",
    sign: "an intent changes one version at a time",
    act: async (stage) => {
      for (let times = 0; times < 3; times += 1) await raceForOne(stage);
    },
  },
  "M12: looked for first, inserted later": {
    defect: "check-then-insert",
    sign: "doubled",
    act: (stage) => stage.post(6),
  },
  "M13: the chain's id is asked for once": {
    defect: "chain-id-at-start-only",
    sign: "answers of another chain were believed",
    act: async (stage) => {
      await stage.post();
      await stage.work();
      stage.proxy.otherChain = true;
      await stage.work(8);
      if (stage.proxy.believed > 0) stage.findings.push("answers of another chain were believed");
    },
  },
  "M14: a tenth more, in floats": {
    defect: "fees-in-floats",
    sign: "raise a fee by less than an eighth",
    act: async (stage) => {
      await outgrow(stage);
    },
  },
  "M15: the cost is reserved after the request was accepted": {
    defect: "reserved-outside",
    sign: "intents without a reservation",
    env: { BUDGET_GLOBAL_HOUR: "1" },
    act: async (stage) => {
      await stage.post();
      await stage.post();
    },
  },
  "M16: timeout by the host's clock": {
    defect: "host-clock",
    sign: "replacements before their time in blocks",
    act: async (stage) => {
      await stage.post();
      const now = Date.now;
      try {
        Date.now = () => now() + 7_200_000;
        await stage.work(3);
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
    act: async (stage) => {
      const name = stage.wish();
      const lost = { ...request(name), idempotencyKey: "lost-and-asked-for-again" };
      const { deployment } = await deployCollection(stage.services, stage.caller, lost);
      await stage.sent();
      await loseRows(stage.database.pool, [deployment.id], stage.wallet);
      await stage.post();
      await stage.mine();
      await stage.work();
      // Refused for now, perhaps: what is accepted has to end all the same.
      await deployCollection(stage.services, stage.caller, lost).catch(() => undefined);
    },
  },
};

/** The first bytes of the only transaction; then blocks go by that it cannot afford, until it is replaced. */
async function outgrow(stage: Stage): Promise<Hex> {
  await stage.post();
  const { rows } = await stage.database.pool.query<{ raw: Buffer }>("SELECT raw FROM service.attempt");
  const first = rows[0]?.raw ?? Buffer.alloc(0);
  await stage.mineDear(4);
  for (let tries = 0; tries < 20; tries += 1) {
    await stage.work();
    const newer = await stage.database.pool.query("SELECT FROM service.attempt WHERE raw <> $1", [first]);
    if (newer.rowCount) return toHex(first);
  }
  throw new Error("never replaced");
}

/** Three processes take one request's steps at the same moment. */
async function raceForOne(stage: Stage): Promise<void> {
  const name = stage.wish();
  const checked = await checkDeployment(stage.services, stage.caller, request(name));
  const intent = await acceptDeployment(stage.services, stage.caller, null, checked);
  const race = await Promise.allSettled([1, 2, 3].map(() => submitIntent(stage.services, stage.chain, intent)));
  for (const end of race)
    if (end.status === "rejected") stage.findings.push(`a late write was not simply lost: ${end.reason}`);
}

/** A stranger saw the intent and is first: same intent, owner and name, another supply. */
async function takeAddress(stage: Stage): Promise<void> {
  const { rows } = await stage.database.pool.query<{ root_id: string; init_data: Buffer }>(
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
  const [, stranger] = await rpc<Address[]>(stage.ground.url, "eth_accounts");
  const call = { from: stranger, to: stage.factory.address, data, gas: toHex(2_000_000) };
  stage.strangers.add(await rpc<string>(stage.ground.url, "eth_sendTransaction", [call]));
  await stage.mine();
}
