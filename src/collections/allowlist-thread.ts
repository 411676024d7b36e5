// The thread in which large presale trees are built: takes the wallets, posts the tree.
import { parentPort, workerData } from "node:worker_threads";
import { hashTree } from "./stored-tree.ts";

const tree = hashTree(workerData as string[]);
parentPort?.postMessage(tree, [tree.nodes.buffer, tree.members.buffer]);
