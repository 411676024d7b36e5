import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readStatus } from "../../src/accounts/read-status.ts";
import { watchStatus } from "../../src/accounts/status-gauges.ts";
import type { Caller } from "../../src/auth/caller.ts";
import { type DeployCollectionResult, deployCollection } from "../../src/collections/deploy-collection.ts";
import { ServiceError } from "../../src/errors/errors.ts";
import { ensureNftViews } from "../../src/indexing/nft-views.ts";
import type { Services } from "../../src/services.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { createSignerMemory, watchSigner } from "../../src/transactions/track/watch.ts";
import { patient, wait } from "../setup/wait.ts";
import { goerli, launch, RelayHarness } from "../transactions/harness.ts";
import { relayRound } from "../transactions/round.ts";
import { RunningSigner } from "./signer-fixture.ts";

const done = ["confirmed", "finalized"];

let h: RelayHarness;
let signer: RunningSigner;
let services: Services;
beforeAll(async () => {
  h = await RelayHarness.start();
  await ensureNftViews(h.database.url);
  signer = await RunningSigner.start({ id: h.node.id, factory: h.factory.address }, { keys: [h.relayerKey] });
  // The environment has the key too; nobody reads it there.
  services = h.process(signer.access());
});
afterAll(async () => {
  await signer?.stop();
  await h?.stop();
});

const memories = new Map<Services, ReturnType<typeof createSignerMemory>>();

/** As any process shows it once a worker has looked. */
async function statusOf(worker: Services) {
  const memory = memories.get(worker) ?? createSignerMemory();
  memories.set(worker, memory);
  await watchSigner(worker, memory);
  return await readStatus(worker);
}

/** Ends the signer; a process that has heard of it in the last second believes that it is there. */
async function killed(): Promise<void> {
  await signer.kill();
  await expect.poll(() => services.relay.signing.check(), patient).toBe("unreachable");
}

/** As clients should: the same request under the same key, until it has a hash. */
async function deployAtLast(caller: Caller): Promise<DeployCollectionResult> {
  const asked = launch({ idempotencyKey: randomUUID() });
  const once = async () => {
    try {
      return await deployCollection(services, caller, asked);
    } catch (error) {
      if (error instanceof ServiceError && error.code === "service_unavailable") return null;
      throw error;
    }
  };
  return (await wait("the signer to serve a request", once)) as DeployCollectionResult;
}

const reserved = async () => {
  const { rows } = await h.database.pool.query(
    `SELECT count(*)::int AS nonces, count(DISTINCT intent_id)::int AS intents, coalesce(max(nonce) - min(nonce) + 1, 0)::int AS span
     FROM service.nonce_reservation`,
  );
  return rows[0] as { nonces: number; intents: number; span: number };
};

test("a deployment is signed by the other process", async () => {
  const deployed = await deployCollection(services, await h.caller(), launch());
  expect(services.relay.signing.kind).toBe("signer");
  await h.until(services, deployed.deployment.id, done);
  await expect.poll(() => signer.output, patient).toContain(String(deployed.deployment.transactionHash));
  await expect.poll(() => statusOf(services), patient).toMatchObject({ signer: { kind: "signer", trouble: null } });
});

test("without the signer requests are accepted and keep their place, no nonce is given out, and it is said so", async () => {
  await killed();
  const before = await reserved();
  const announced = (await h.announced()).length;
  const caller = await h.caller();
  const waiting = Promise.all(Array.from({ length: 4 }, () => deployAtLast(caller)));
  waiting.catch(() => undefined);
  const queued = async () =>
    (await h.database.pool.query("SELECT count(*)::int AS n FROM service.intent WHERE state = 'queued'")).rows[0].n;
  await expect.poll(queued, patient).toBeGreaterThanOrEqual(4);
  expect(await reserved()).toEqual(before);
  // What is said may be a second old.
  const said = async () => (await statusOf(services)).signer;
  await expect.poll(said, patient).toEqual({ kind: "signer", trouble: "unreachable" });
  const status = await readStatus(services);
  expect(status.chains.find(({ chain }) => chain === "goerli")?.troubles).toContain("signer_unreachable");
  const metrics = createMetrics("test");
  watchStatus(metrics, services);
  expect(await metrics.registry.metrics()).toMatch(/^mintyard_signer_up\{kind="signer",process="test"\} 0$/m);
  await signer.restart();
  // The requests that waited, or came again when they had waited ten seconds, get their hashes.
  const answers = await waiting;
  for (const { deployment } of answers) await h.until(services, deployment.id, done);
  expect(await reserved()).toEqual({
    nonces: before.nonces + 4,
    intents: before.intents + 4,
    span: before.span + 4,
  });
  expect(await h.announced()).toHaveLength(announced + 4);
  await expect.poll(said, patient).toMatchObject({ trouble: null });
});

test("a signer that is killed while it signs loses nothing and doubles nothing", async () => {
  const before = await reserved();
  const announced = (await h.announced()).length;
  const caller = await h.caller();
  const asked = Array.from({ length: 8 }, () => deployAtLast(caller));
  for (const one of asked) one.catch(() => undefined);
  const signed = async () => (await reserved()).nonces > before.nonces;
  await expect.poll(signed, { ...patient, interval: 5 }).toBe(true);
  await signer.kill();
  await signer.restart();
  const answers = await Promise.all(asked);
  for (const { deployment } of answers) await h.until(services, deployment.id, done);
  const after = await reserved();
  expect(after).toEqual({ nonces: before.nonces + 8, intents: before.intents + 8, span: before.span + 8 });
  expect(await h.announced()).toHaveLength(announced + 8);
});

test("what the signer may not sign today is held by that name, costs no nonce, and goes on with more room", async () => {
  await killed();
  await signer.restart({ SIGNER_DAY_GOERLI: "0" });
  const before = await reserved();
  const caller = await h.caller();
  const ids: string[] = [];
  for (let index = 0; index < 3; index += 1) {
    const refused = await deployCollection(services, caller, launch()).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: "service_unavailable",
      message: expect.stringContaining("the signer has signed what it may sign in a day"),
    });
    ids.push((refused as { details: { deployment: string } }).details.deployment);
  }
  await relayRound(services, goerli(services), createRelayMemory());
  const { rows } = await h.database.pool.query(
    "SELECT state, hold_reason FROM service.intent WHERE id = ANY ($1) ORDER BY seq",
    [ids],
  );
  expect(rows).toEqual(ids.map(() => ({ state: "held", hold_reason: "signer_day" })));
  expect((await reserved()).nonces).toBe(before.nonces);
  await expect.poll(async () => (await statusOf(services)).chains[0]?.troubles, patient).toContain("signer_spent");
  await killed();
  await signer.restart();
  for (const id of ids) await h.until(services, id, done);
});

test("a token that the signer does not know is said so, and costs no nonce", async () => {
  const before = await reserved();
  const wrong = h.process({ ...signer.access(), SIGNER_TOKEN: "x".repeat(43) });
  await expect.poll(() => statusOf(wrong), patient).toMatchObject({ signer: { trouble: "unauthorized" } });
  await expect(wrong.relay.signing.requireAnswer()).rejects.toMatchObject({ trouble: "unauthorized" });
  expect(await reserved()).toEqual(before);
});

test("a request that no signer served in ten seconds is told that it is accepted, and is signed later", async () => {
  await killed();
  const refused = await deployCollection(services, await h.caller(), launch()).catch((error: unknown) => error);
  expect(refused).toMatchObject({
    code: "service_unavailable",
    message: expect.stringMatching(/^accepted but not sent yet: the signer does not answer\. It stays queued until /),
    details: { deployment: expect.any(String), expiresAt: expect.any(String) },
  });
  // A worker says what keeps it, and what to do.
  await expect(relayRound(services, goerli(services), createRelayMemory())).rejects.toMatchObject({
    code: "service_unavailable",
    trouble: "unreachable",
    cause: { message: expect.stringContaining("start the signer") },
  });
  await signer.restart();
  await h.until(services, (refused as { details: { deployment: string } }).details.deployment, done);
});
