// The worker thread that builds presale trees: receives addresses, posts the tree, until it is terminated.
import { parentPort } from "node:worker_threads";
import { hashTree, walletsOf } from "./stored-tree.ts";

parentPort?.on("message", (addresses: Uint8Array) => {
  const tree = hashTree(walletsOf(addresses));
  parentPort?.postMessage(tree, [tree.nodes.buffer, tree.members.buffer]);
});
