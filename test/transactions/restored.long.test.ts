import { join } from "node:path";
import { createWalletClient, http } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Caller } from "../../src/auth/caller.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { type DeployCollectionInput, deployments } from "../../src/collections/deployment-input.ts";
import { takeBackup } from "../../src/db/admin/backup.ts";
import { restoreBackup } from "../../src/db/admin/restore.ts";
import { LocalCars } from "../../src/ipfs/local-cars.ts";
import { getRequest } from "../../src/requests/requests.ts";
import type { Services } from "../../src/services.ts";
import { reconcileWallet } from "../../src/transactions/operator/mend-wallet.ts";
import { findReservation, listAttempts } from "../../src/transactions/store/nonces.ts";
import { submitIntent } from "../../src/transactions/submit/submit-intent.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { acceptDeployment } from "./accept.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
let before: Services;
let caller: Caller;
const dir = temporaryFolder();
let fresh: TestDatabase;
beforeAll(async () => {
  h = await RelayHarness.start();
  before = h.process();
  caller = await h.caller();
  fresh = await createTestDatabase({ migrated: false });
});
afterAll(async () => {
  await h?.stop();
  await fresh?.drop();
});

const done = ["confirmed", "finalized"];
const accept = async (services: Services, input: DeployCollectionInput) =>
  await acceptDeployment(services, caller, input);

test("an older backup beside the chain: what was deployed since is imported, the wallet goes on behind it, nothing is deployed twice", async () => {
  // A wallet that has deployed before: its row is in the backup.
  const old = await deployCollection(before, caller, launch());
  await h.until(before, old.deployment.id, done);
  // At the moment of the backup: three are accepted, one of them is signed but not sent.
  const [queued, queuedToo, signed] = await Promise.all([
    accept(before, launch({ idempotencyKey: "queued" })),
    accept(before, launch()),
    accept(before, launch()),
  ]);
  expect((await submitIntent(before, goerli(before), signed)).kind).toBe("signed");
  await takeBackup(h.database.url, new LocalCars(join(dir, "no-ipfs")), join(dir, "backup"));
  // After it: those are deployed, and two more that the backup knows nothing of, one by a client's key.
  for (const { id } of [queued, queuedToo, signed]) await h.until(before, id, done);
  const keyed = launch({ idempotencyKey: "after-the-backup" });
  const unkeyed = launch();
  const forgotten = [];
  for (const input of [keyed, unkeyed]) {
    const { deployment } = await deployCollection(before, caller, input);
    await h.until(before, deployment.id, done);
    forgotten.push(await getRequest(before, caller, deployments, { id: deployment.id }));
  }
  const hashes = new Map<string, string | null>();
  for (const { id } of [old.deployment, queued, queuedToo, signed])
    hashes.set(id, (await getRequest(before, caller, deployments, { id })).transactionHash);
  const announced = await h.announced();
  expect(announced).toHaveLength(6);

  await restoreBackup(fresh.url, new LocalCars(join(dir, "data")), join(dir, "backup"));
  const after = h.process({ DATABASE_URL: fresh.url });
  const chain = goerli(after);
  const stored = async () => (await fresh.pool.query("SELECT state, next_nonce FROM service.relayer_wallet")).rows[0];
  // A new request comes first of all: it gets a nonce behind everything that the wallet did.
  const request = launch({ idempotencyKey: "new" });
  const used = BigInt(await h.chain.getTransactionCount({ address: h.relayer }));
  const next = await deployCollection(after, caller, request);
  expect((await findReservation(after.db, next.deployment.id))?.nonce).toBe(used);
  await relayRound(after, chain, createRelayMemory());
  expect((await stored()).state).toBe("open");

  for (const { id } of [queued, queuedToo, signed]) await h.until(after, id, done, fresh.pool);
  for (const [id, hash] of hashes) {
    const { transactionHash, confirmed } = await getRequest(after, caller, deployments, { id });
    expect({ transactionHash, confirmed }).toEqual({ transactionHash: hash, confirmed: true });
  }
  expect((await listAttempts(fresh.db, queued.id)).map(({ kind }) => kind)).toEqual(["imported"]);
  await h.until(after, next.deployment.id, done, fresh.pool);
  // Nobody of this database asked for two of the nonces: they are filled by what was found on the chain.
  const { rows: found } = await fresh.pool.query(
    "SELECT found_root, mined_attempt FROM service.nonce_reservation WHERE found AND intent_id IS NULL AND state = 'mined' ORDER BY nonce",
  );
  expect(found.map((row) => [row.found_root, `0x${row.mined_attempt.toString("hex")}`])).toEqual(
    forgotten.map(({ id, transactionHash }) => [id, transactionHash]),
  );
  expect(await reconcileWallet(after, chain, h.relayer)).toEqual([]);
  expect(await stored()).toMatchObject({ state: "open", next_nonce: used + 1n });

  // Clients whose deployments the backup had not yet: asking again gives the collection that stands.
  for (const [index, input] of [keyed, unkeyed].entries()) {
    const again = await deployCollection(after, caller, input);
    await h.until(after, again.deployment.id, done, fresh.pool);
    const { transactionHash, contract, confirmed } = await getRequest(after, caller, deployments, {
      id: again.deployment.id,
    });
    const { transactionHash: hash, contract: place } = forgotten[index] ?? {};
    expect({ transactionHash, contract, confirmed }).toEqual({
      transactionHash: hash,
      contract: place,
      confirmed: true,
    });
  }
  const names = (await h.announced()).map(({ intentId }) => intentId);
  expect(new Set(names).size).toBe(names.length);
  expect(names.slice(0, announced.length)).toEqual(announced.map(({ intentId }) => intentId));
  expect(names).toHaveLength(7);
  const { rows: nonces } = await fresh.pool.query("SELECT nonce FROM service.nonce_reservation ORDER BY nonce");
  expect(nonces.map(({ nonce }) => nonce - nonces[0].nonce)).toEqual(nonces.map((_, index) => BigInt(index)));
  // What was forgotten is not taken for another installation's.
  expect((await fresh.pool.query("SELECT FROM service.external_transaction")).rowCount).toBe(0);
});

test("an external transaction among the unexplained ones keeps the wallet closed", async () => {
  const services = h.process({ DATABASE_URL: fresh.url });
  const wallet = createWalletClient({ account: privateKeyToAccount(h.relayerKey), transport: http(h.node.url) });
  const hash = await wallet.sendTransaction({ to: `0x${"12".repeat(20)}`, value: 1n, chain: null });
  await h.chain.waitForTransactionReceipt({ hash });
  expect(await reconcileWallet(services, goerli(services), h.relayer)).toMatchObject([{ hash, explained: false }]);
  expect((await fresh.pool.query("SELECT FROM service.external_transaction")).rowCount).toBe(0);
  const { rows } = await fresh.pool.query("SELECT state FROM service.relayer_wallet");
  expect(rows).toEqual([{ state: "reconcile" }]);
});
