// One local EVM chain: a Hardhat node whose blocks survive restarts. Started by `npm start` as a child.
//   node bin/local-chain.ts --chain-id 31337 --port 8545 --dir .mintyard/chain-31337
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createHardhatRuntimeEnvironment } from "hardhat/hre";
import type { NetworkConnection } from "hardhat/types/network";
import { compactHeapLater } from "../src/compact-heap.ts";
import { ChainJournal, changesChain } from "../src/embedded/chain-journal.ts";
import { compileCacheKept } from "../src/embedded/compile-cache.ts";
import { leave } from "../src/processes/lifecycle.ts";

const { values } = parseArgs({
  options: { "chain-id": { type: "string" }, port: { type: "string" }, dir: { type: "string" } },
});
const chainId = Number(values["chain-id"]);
const port = Number(values.port);
const dir = values.dir;
if (!chainId || !port || !dir) throw new Error("usage: local-chain.ts --chain-id N --port N --dir FOLDER");

// The launcher may die during the replay; everything acknowledged is in the journal.
const abandoned = () => leave(1);
process.on("disconnect", abandoned);
mkdirSync(dir, { recursive: true });
const journal = new ChainJournal(join(dir, "journal.jsonl"));
let replaying = true;
let connected: NetworkConnection | undefined;
// Requests that change the chain run one at a time, so that the journal has the order in which they took effect.
let turn: Promise<unknown> = Promise.resolve();

// Otherwise Hardhat looks for a package around this process's working directory.
const project = join(import.meta.dirname, "..");
const hre = await createHardhatRuntimeEnvironment(
  {
    networks: {
      local: {
        type: "edr-simulated",
        chainType: "l1",
        chainId,
        hardfork: "prague",
        initialDate: genesisDate(dir),
      },
    },
    plugins: [
      {
        id: "mintyard-journal",
        hookHandlers: {
          network: async () => ({
            default: async () => ({
              newConnection: async (context, next) => {
                const connection = await next(context);
                connected = connection as unknown as NetworkConnection;
                return connection;
              },
              onRequest: async (context, connection, request, next) => {
                if (replaying || !changesChain(request.method)) return await next(context, connection, request);
                const ask = (method: string, params: unknown = []) =>
                  connection.provider.request({ method, params: params as unknown[] });
                if (request.method === "evm_setIntervalMining") {
                  // The journal cannot replay blocks that no request caused.
                  const error = { code: -32004, message: "interval mining is off on this node; use evm_mine" };
                  return { jsonrpc: "2.0", id: request.id, error };
                }
                const entry = { method: request.method, params: request.params ?? [] };
                const run = () => next(context, connection, request);
                const mine = turn.then(() => journal.record(ask, entry, run, (response) => "error" in response));
                turn = mine.catch(() => undefined);
                return await mine;
              },
            }),
          }),
        },
      },
    ],
  },
  {},
  project,
);
const server = await hre.network.createServer("local", "127.0.0.1", port);
if (!connected) throw new Error("the node made no connection");
const { provider } = connected;
const replayed = await journal.replay((method, params = []) =>
  provider.request({ method, params: params as unknown[] }),
);
replaying = false;
// Not before the replay is complete: an indexer would take a shorter chain for a reorganisation.
await server.listen();
process.send?.({ type: "ready", replayed });

async function stop(): Promise<void> {
  // A request that hangs must not keep a dead launcher's node running.
  setTimeout(() => leave(1), 3_000).unref();
  journal.close();
  await server.close().catch(() => undefined);
  leave(0);
}
process.on("SIGTERM", stop);
process.on("SIGINT", stop);
process.off("disconnect", abandoned);
process.on("disconnect", stop);
compactHeapLater();
void compileCacheKept();

/** The genesis block's time, stored: another time would make another chain. */
function genesisDate(folder: string): string {
  const file = join(folder, "genesis-date");
  if (!existsSync(file)) writeFileSync(file, new Date(Math.floor(Date.now() / 1000) * 1000 - 60_000).toISOString());
  return readFileSync(file, "utf8").trim();
}
