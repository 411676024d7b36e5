import { type Address, createWalletClient, http, parseEther } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { toAddress } from "../../src/db/bytes.ts";
import { grantWallets } from "../../src/transactions/operator/grant-wallets.ts";
import { openWallet } from "../../src/transactions/operator/mend-wallet.ts";
import { findReservation } from "../../src/transactions/store/nonces.ts";
import { listWallets } from "../../src/transactions/store/wallets.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { patient } from "../setup/wait.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";
import { relayRound } from "./round.ts";

let h: RelayHarness;
const secondKey = generatePrivateKey();
const second = privateKeyToAccount(secondKey).address.toLowerCase() as Address;
const done = ["confirmed", "finalized"];

const quiet = () => ({
  deadline: performance.now() + patient.timeout,
  report: () => undefined,
  askAdmin: () => undefined,
});

beforeAll(async () => {
  h = await RelayHarness.start();
  await h.chain.setBalance({ address: second, value: parseEther("1000") });
});
afterAll(() => h?.stop());

test("a further wallet deploys once it was granted the role, and the grant takes a nonce of the first one", async () => {
  const keys = { RELAYER_KEY_GOERLI: `${h.relayerKey},${secondKey}` };
  const before = h.process(keys);
  const caller = await h.caller();
  const first = await deployCollection(before, caller, launch());
  expect(await before.relay.deployers(goerli(before))).toEqual([h.relayer]);
  // The service is at work meanwhile: its nonces and the grant's must not meet.
  const [grants, ...others] = await Promise.all([
    grantWallets(h.process(keys, true), goerli(before), quiet()),
    ...Array.from({ length: 4 }, () => deployCollection(before, caller, launch())),
  ]);
  const own = { wallet: h.relayer, transactionHash: null };
  expect(grants).toEqual([own, { wallet: second, transactionHash: expect.stringMatching(/^0x[0-9a-f]{64}$/) }]);
  const again = await grantWallets(h.process(keys, true), goerli(before), quiet());
  expect(again).toEqual([own, { wallet: second, transactionHash: null }]);
  const services = h.process(keys);
  expect(await services.relay.deployers(goerli(services))).toEqual([h.relayer, second]);
  const later = await Promise.all(Array.from({ length: 6 }, () => deployCollection(services, caller, launch())));
  const ids = [first, ...others, ...later].map(({ deployment }) => deployment.id);
  for (const id of ids) await h.until(services, id, done);
  const senders = new Set<string>();
  for (const id of ids) senders.add(toAddress((await findReservation(services.db, id))?.addr ?? Buffer.alloc(20)));
  expect(senders).toEqual(new Set([h.relayer, second]));
  const { rows } = await services.pool.query(
    "SELECT max(nonce) - min(nonce) + 1 = count(*) AS dense FROM service.nonce_reservation GROUP BY addr",
  );
  expect(rows).toEqual([{ dense: true }, { dense: true }]);
});

test("a wallet that sent external transactions is closed, and opens on a person's word past them", async () => {
  const services = h.process();
  const caller = await h.caller();
  const wallet = createWalletClient({ account: privateKeyToAccount(h.relayerKey), transport: http(h.node.url) });
  for (let count = 0; count < 2; count += 1) {
    const hash = await wallet.sendTransaction({ to: h.relayer, value: 1n, chain: null });
    await h.chain.waitForTransactionReceipt({ hash });
  }
  const refused = await deployCollection(services, caller, launch({ idempotencyKey: "waits" })).catch((error) => error);
  expect(refused).toMatchObject({ code: "service_unavailable" });
  const own = async () => (await listWallets(services.db, h.node.id)).find(({ address }) => address === h.relayer);
  // The next look is at what is held, in some seconds.
  await expect.poll(pollState, { ...patient, interval: 200 }).toBe("reconcile");
  async function pollState() {
    await relayRound(services, goerli(services), createRelayMemory());
    return (await own())?.state;
  }
  expect(await openWallet(services, goerli(services), h.relayer)).toMatchObject({ skipped: 2n });
  expect(await pollState()).toBe("open");
  const { rows } = await services.pool.query("SELECT id FROM service.intent WHERE idem_key = 'client:waits'");
  await h.until(services, rows[0].id, done);
});
