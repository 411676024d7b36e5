// The thread in which large presale trees are built: takes the wallets, posts the layers.
import { parentPort, workerData } from "node:worker_threads";
import { hashLayers } from "./allowlist-layers.ts";

const layers = hashLayers(workerData as string[]);
parentPort?.postMessage(
  layers,
  layers.map((layer) => layer.buffer),
);
