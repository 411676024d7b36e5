// The signer: the only process with the relayer's keys. It signs what the rules allow, and has access to neither the
// database nor a node. docs/relayer.md lists which process asks it for what.
import { chmodSync, lstatSync, rmSync } from "node:fs";
import type { Server } from "node:http";
import { connect } from "node:net";
import { compactHeapLater, keepHeapSmall } from "../compact-heap.ts";
import { DaySpending } from "../signing/day-spending.ts";
import type { Endpoint } from "../signing/endpoint.ts";
import { openKeyrings } from "../signing/keyrings.ts";
import { loadSignerConfig } from "../signing/signer-config.ts";
import { createSignerServer } from "../signing/signer-server.ts";
import { createLogger } from "../telemetry/log.ts";
import { endWithParent, onStop } from "./lifecycle.ts";

const config = loadSignerConfig();
const { token, adminToken, listen } = config;
const secrets = [token, adminToken, ...config.chains.flatMap(({ keys }) => keys.map((key) => key.slice(2)))];
const log = createLogger("signer", config.logLevel, secrets);
const keyrings = await openKeyrings(config, log);
const spending = new DaySpending(config.spendingFile);
const server = createSignerServer({ keyrings, token, adminToken, spending, log });
await open(server, listen, config.socketMode);
for (const { chain, policy } of keyrings) {
  const { wallets, factories, roles, dayWei } = policy;
  log.info({ chain, wallets, factories, roles, dayWei }, "holds wallets");
}
log.info(listen, "signing");
endWithParent();
onStop(
  async () => {
    server.close();
    server.closeIdleConnections();
    setTimeout(() => server.closeAllConnections(), 500).unref();
    await new Promise((closed) => server.once("close", closed));
  },
  log,
  { delayMs: 0, graceMs: 1_000 },
);
process.send?.({ type: "ready" });
compactHeapLater(keepHeapSmall);

/** @throws Error when another signer listens there. */
async function open(to: Server, endpoint: Endpoint, socketMode: number): Promise<void> {
  const path = "socketPath" in endpoint ? endpoint.socketPath : null;
  if (path !== null) await removeDeadSocket(path);
  // So that nobody else can connect between the bind and the chmod.
  const mask = process.umask(0o177);
  await new Promise<void>((ready, failed) => {
    to.once("error", failed);
    if (path !== null) to.listen(path, ready);
    else if ("url" in endpoint) {
      const { hostname, port } = new URL(endpoint.url);
      to.listen(Number(port), hostname.replace(/^\[|\]$/g, ""), ready);
    }
  });
  process.umask(mask);
  if (path !== null) chmodSync(path, socketMode);
}

/** A signer that was killed leaves its socket behind. */
async function removeDeadSocket(path: string): Promise<void> {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (!there) return;
  if (!there.isSocket()) throw new Error(`SIGNER_LISTEN: ${path} is there and is no socket`);
  const lives = await new Promise<boolean>((done) => {
    const probe = connect(path, () => {
      probe.destroy();
      done(true);
    });
    probe.once("error", () => done(false));
  });
  if (lives) throw new Error(`SIGNER_LISTEN: another signer listens on ${path}`);
  rmSync(path, { force: true });
}
