// The thread in which presale trees are built: takes addresses, posts the tree, until it is ended.
import { parentPort } from "node:worker_threads";
import { hashTree, walletsOf } from "./stored-tree.ts";

parentPort?.on("message", (addresses: Uint8Array) => {
  const tree = hashTree(walletsOf(addresses));
  parentPort?.postMessage(tree, [tree.nodes.buffer, tree.members.buffer]);
});
