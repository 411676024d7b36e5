import { concatHex, createWalletClient, http, keccak256, parseEther, stringToHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { collectionFactoryAbi } from "../../contracts/abi/collection-factory.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { toAddress, toHash, toHex } from "../../src/db/bytes.ts";
import type { Services } from "../../src/services.ts";
import { intentName } from "../../src/transactions/chain/request-call.ts";
import { verifyDeployment } from "../../src/transactions/chain/verify-deployment.ts";
import { getIntent } from "../../src/transactions/store/intents.ts";
import { findReservation } from "../../src/transactions/store/nonces.ts";
import { importDeployment } from "../../src/transactions/submit/recover-request.ts";
import { acceptDeployment } from "./accept.ts";
import { goerli, launch, RelayHarness } from "./harness.ts";

let h: RelayHarness;
let services: Services;
beforeAll(async () => {
  h = await RelayHarness.start();
  services = h.process();
});
afterAll(() => h?.stop());

test("a collection is confirmed by the code at its address, whatever that code answers", async () => {
  const { deployment } = await deployCollection(services, await h.caller(), launch());
  await h.until(services, deployment.id, ["confirmed", "finalized"]);
  const intent = await getIntent(services.db, deployment.id);
  const reservation = await findReservation(services.db, deployment.id);
  if (!intent || !reservation?.mined_attempt || reservation.mined_block === null) throw new Error("it is mined");
  const hash = toHash(reservation.mined_attempt);
  const address = toAddress(intent.predicted_addr);
  const head = await h.chain.getBlockNumber();
  expect(await verifyDeployment(services.relay.nodes(goerli(services)), intent, head, hash)).toBeNull();
  // It delegates to the same template and tells the same configuration; yet these are not the request's bytes.
  await h.chain.setCode({ address, bytecode: concatHex([(await h.chain.getCode({ address })) ?? "0x", "0x00"]) });
  await h.chain.mine({ blocks: 1 });
  expect(await verifyDeployment(services.relay.nodes(goerli(services)), intent, head + 1n, hash)).toMatch(
    /configuration in its code/,
  );
});

test("what another wallet with the factory's role deployed for an intent is not taken for our transaction", async () => {
  const account = privateKeyToAccount(generatePrivateKey());
  await h.chain.setBalance({ address: account.address, value: parseEther("10") });
  const [admin] = (await h.chain.request({ method: "eth_accounts" } as never)) as [`0x${string}`];
  const factory = { address: h.factory.address, abi: collectionFactoryAbi, chain: null } as const;
  const role = keccak256(stringToHex("RELAYER_ROLE"));
  const transport = http(h.node.url);
  const granted = await createWalletClient({ account: admin, transport }).writeContract({
    ...factory,
    functionName: "grantRole",
    args: [role, account.address],
  });
  await h.chain.waitForTransactionReceipt({ hash: granted });

  const caller = await h.caller();
  const accepted = await acceptDeployment(services, caller, launch());
  const intent = await getIntent(services.db, accepted.id);
  if (!intent) throw new Error("it is accepted");
  const hash = await createWalletClient({ account, transport }).writeContract({
    ...factory,
    functionName: "deploy",
    args: [intentName(intent.root_id), toAddress(intent.owner), toHex(intent.init_data)],
  });
  expect((await h.chain.waitForTransactionReceipt({ hash })).status).toBe("success");
  expect(await h.chain.getCode({ address: toAddress(intent.predicted_addr) })).toBeDefined();

  expect(await importDeployment(services, goerli(services), intent)).toBeNull();
  const { rows } = await h.database.pool.query("SELECT addr FROM service.relayer_wallet");
  expect(rows.map(({ addr }) => toAddress(addr))).not.toContain(account.address.toLowerCase());
  expect((await getIntent(services.db, intent.id))?.state).toBe(intent.state);
});
