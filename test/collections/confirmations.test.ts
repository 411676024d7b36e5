import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { createTestClient, http } from "viem";
import { getBlock } from "viem/actions";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createAccount } from "../../src/auth/keys.ts";
import { deployCollection } from "../../src/collections/deploy-collection.ts";
import { createApp } from "../../src/server/app.ts";
import type { Services } from "../../src/services.ts";
import { rpc } from "../chaos/fleet.ts";
import { send } from "../setup/send.ts";
import { patient } from "../setup/wait.ts";
import { launch, RelayHarness } from "../transactions/harness.ts";

let h: RelayHarness;
let services: Services;
let server: Server;
let base: string;
const key = randomUUID();
let accountId: string;

beforeAll(async () => {
  h = await RelayHarness.start();
  services = h.process({ CONFIRMATIONS_GOERLI: "64" });
  accountId = await createAccount(services.db, services.config.keyPepper, { name: "waits", tier: "growth", key });
  server = createServer(getRequestListener(createApp(services).fetch));
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  // A chain that makes a block every two seconds.
  await node().mineSteadily(300);
});
afterAll(async () => {
  server?.close();
  await h?.stop();
});

const node = () =>
  createTestClient({ mode: "hardhat", transport: http(h.node.url) }).extend((client) => ({
    /** So many blocks, each two seconds after the one before it, however long the test took until here. */
    async mineSteadily(blocks: number) {
      const { timestamp } = await getBlock(client);
      await client.setNextBlockTimestamp({ timestamp: timestamp + 2n });
      await client.mine({ blocks, interval: 2 });
    },
  }));

async function ask(id: string, hash: string) {
  // A second passes between two looks at the chain, less on a local one.
  await new Promise((done) => setTimeout(done, 250));
  const lookup = await send(`${base}/v0/contracts/${hash}?chain=goerli`, { key });
  const query = `{ deployment(id: "${id}") { state confirmations confirmationsRequired progress } }`;
  const answer = await send(`${base}/graphql`, { key, body: { query } });
  return { v0: lookup.body, graphql: answer.body.data.deployment };
}

test("who waits for a deployment is told its confirmations of those required, and the time the rest takes", async () => {
  await node().setAutomine(false);
  const caller = { accountId, tier: "growth", requestId: "req_test" } as const;
  const { deployment } = await deployCollection(services, caller, launch());
  await h.pooled(services, deployment.transactionHash);
  const waiting = await ask(deployment.id, deployment.transactionHash);
  expect(waiting.v0.error).toMatchObject({
    status_code: 404,
    code: "transaction_pending",
    message: "the transaction is not confirmed yet: in no block yet; then 64 confirmations, about 130 s",
  });
  expect(waiting.graphql).toMatchObject({
    confirmations: "0",
    confirmationsRequired: 64,
    progress: "in no block yet; then 64 confirmations, about 130 s",
  });
  await node().mineSteadily(1);
  await h.until(services, deployment.id, ["mined"]);
  await node().mineSteadily(11);
  const mined = await ask(deployment.id, deployment.transactionHash);
  expect(mined.v0.error.message).toBe("the transaction is not confirmed yet: 12 of 64 confirmations, about 100 s");
  expect(Object.keys(mined.v0.error)).toEqual(["status_code", "code", "message", "request_id", "fix", "docs"]);
  expect(mined.graphql).toEqual({
    state: "MINED",
    confirmations: "12",
    confirmationsRequired: 64,
    progress: "12 of 64 confirmations, about 100 s",
  });
});

test("while no node answers the question is answered all the same", async () => {
  const caller = { accountId, tier: "growth", requestId: "req_test" } as const;
  const { deployment } = await deployCollection(services, caller, launch());
  // It is answered once it is stored, and sent right after.
  const sent = () => rpc(h.node.url, "eth_getTransactionByHash", [deployment.transactionHash]);
  await expect.poll(sent, patient).not.toBe(null);
  await node().mine({ blocks: 1 });
  await h.until(services, deployment.id, ["mined"]);
  h.proxy.goDown();
  const { v0, graphql } = await ask(deployment.id, deployment.transactionHash);
  h.proxy.heal();
  expect(v0.error.message).toBe("the transaction is not confirmed yet: in a block; it takes 64 confirmations");
  expect(graphql).toMatchObject({ state: "MINED", confirmations: null });
});
