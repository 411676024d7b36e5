import type { Task } from "./example.ts";
import { account, starting } from "./examples/account.ts";
import { changing, deploying, following, selling } from "./examples/collections.ts";
import { streaming, webhooks } from "./examples/events.ts";
import { files } from "./examples/files.ts";
import { creating, minting, moving } from "./examples/minting.ts";
import { owning, reading, searching, transactions } from "./examples/reading.ts";

/** The readers' tasks, in the order in which they come up. A test fails for operations that no example shows. */
export const tasks: readonly Task[] = [
  ...[starting, files, deploying, following, selling, changing, creating, minting, moving],
  ...[reading, owning, transactions, searching, streaming, webhooks, account],
];
