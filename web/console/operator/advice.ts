import type { Status } from "./status.ts";

/** The parts that the page has tiles for. */
export const parts = ["Index", "Transactions", "Wallets", "Signer", "Database", "Storage"] as const;
export type Part = (typeof parts)[number];

/** `wrong`: something stays undone until somebody acts. `warn`: everything works, but worse than it should. */
export type Level = "wrong" | "warn";

interface Advice {
  part: Part;
  level: Level;
  /** The problem, in a sentence. */
  says: string;
  /** What to do, in a sentence. */
  todo: string;
  /** Where the guides have more: page and heading below `/docs/guide/`. */
  guide: `${string}#${string}`;
}

const signer = (says: string, todo: string): Advice => ({
  ...{ part: "Signer", level: "wrong", says, todo, guide: "MintyardSignerDown#cure" },
});

/** By code of `/status`; a test compares these with all codes that the server has, and the links with the guides. */
export const advices: Record<string, Advice> = {
  index_missing: {
    ...{ part: "Index", level: "warn", guide: "MintyardIndexStalled#cure", says: "No block is indexed yet." },
    todo: "Wait for the indexer's first blocks; if none come, start it, and read its log.",
  },
  index_stalled: {
    ...{ part: "Index", level: "wrong", guide: "MintyardIndexStalled#cure", says: "The index stands still." },
    todo: "Look what it waits for, and start the indexer again if it has ended.",
  },
  index_behind: {
    ...{ part: "Index", level: "warn", guide: "MintyardIndexBehind#cure", says: "The index is far behind its node." },
    todo: "Look at the plot: if the lag does not fall, the endpoint or the database is too slow.",
  },
  index_incomplete: {
    ...{
      part: "Index",
      level: "wrong",
      guide: "MintyardIndexIncomplete#cure",
      says: "The index lacks logs of the chain.",
    },
    todo: "Choose a better endpoint or proofs, and have the chain indexed anew.",
  },
  block_from_future: {
    ...{ part: "Index", level: "warn", guide: "operations#health-and-metrics" },
    says: "The newest block is later than the database's clock.",
    todo: "Set the clock of the database's machine by a time server.",
  },
  nodes_unreachable: {
    ...{ part: "Index", level: "wrong", guide: "MintyardNodesUnreachable#cure" },
    says: "No endpoint reports the newest block.",
    todo: "Add an endpoint of another provider, or correct the key or the rate of this one.",
  },
  nodes_useless: {
    ...{ part: "Transactions", level: "wrong", guide: "MintyardEndpointDown#cure" },
    says: "No endpoint had a usable answer for a transaction in the last minute.",
    todo: "Look at the provider's status and your plan, and add an endpoint of another provider.",
  },
  nodes_disagree: {
    ...{ part: "Transactions", level: "warn", guide: "MintyardNodesDisagree#cure" },
    says: "The endpoints name different final blocks.",
    todo: "Compare the block's hash with an explorer, and take out the endpoint that differs.",
  },
  queue_stuck: {
    ...{ part: "Transactions", level: "wrong", guide: "MintyardDeploymentsWait#cure" },
    says: "A deployment has waited ten minutes for its signature.",
    todo: "Look at the reason why it waits.",
  },
  worker_missing: {
    ...{ part: "Transactions", level: "wrong", guide: "MintyardProcessDown#cure" },
    says: "No worker that signs has reported for a minute.",
    todo: "Start a worker with the keys or with the signer's address; accepted requests wait for it.",
  },
  wallet_paused_funds: {
    ...{ part: "Wallets", level: "wrong", guide: "MintyardWalletOutOfFunds#cure" },
    says: "A paying wallet has too little for its next transaction.",
    todo: "Send coins of the chain to it; it goes on by itself.",
  },
  wallet_reconcile: {
    ...{ part: "Wallets", level: "wrong", guide: "MintyardWalletHalted#cure" },
    says: "A paying wallet sent something that this service does not know.",
    todo: "Find out who sent it, then run `mintyard wallets reconcile`.",
  },
  wallet_halted: {
    ...{ part: "Wallets", level: "wrong", guide: "MintyardWalletHalted#cure" },
    says: "A paying wallet is halted: a transaction that is not ours used one of its nonces.",
    todo: "Treat its key as stolen until you know who signed; then open it again.",
  },
  wallet_without_role: {
    ...{ part: "Wallets", level: "wrong", guide: "MintyardWalletWithoutRole#cure" },
    says: "The factory does not let a paying wallet deploy.",
    todo: "Run `mintyard wallets grant`: it gives the role, or prints what the factory's administrator sends.",
  },
  wallet_shared: {
    ...{ part: "Wallets", level: "warn", guide: "MintyardExternalTransactions#cure" },
    says: "Another installation has sent transactions from a paying wallet.",
    todo: "Give each installation a wallet of its own.",
  },
  signer_unreachable: signer("The signer does not answer.", "Start it, and compare its address with SIGNER_URL."),
  signer_unauthorized: signer("The signer does not take the worker's token.", "Give both the same SIGNER_TOKEN."),
  signer_refused: signer(
    "The signer refuses what it is asked to sign.",
    "Compare its settings of the chain with those of the worker.",
  ),
  signer_spent: signer(
    "The signer has signed what it may in a day.",
    "See in its log what was signed; then wait for midnight (UTC), or raise its limit.",
  ),
  signer_wrong_answer: signer(
    "The signer gave a signature that cannot be used.",
    "Compare its wallets with RELAYER_ADDRESS of the chain.",
  ),
  database_unreachable: {
    ...{ part: "Database", level: "wrong", guide: "MintyardDatabaseDown#cure", says: "The database does not answer." },
    todo: "Start PostgreSQL, or give its disk room; no process needs a restart.",
  },
  database_refused: {
    ...{ part: "Database", level: "wrong", guide: "MintyardDatabaseDown#cure" },
    says: "The database does not let this process read.",
    todo: "Read in the log which right or login is missing.",
  },
  clock_wrong: {
    ...{ part: "Database", level: "warn", guide: "operations#health-and-metrics" },
    says: "The clock of this process is not the database's.",
    todo: "Set the clocks of both machines by a time server.",
  },
  replica_out: {
    ...{ part: "Database", level: "warn", guide: "MintyardReplicaOut#cure", says: "A standby gets no reads." },
    todo: "Start it, or let it follow the present primary.",
  },
  storage_full: {
    ...{ part: "Storage", level: "wrong", guide: "MintyardStorageFull#cure" },
    says: "Storage is nearly full, and uploads are refused.",
    todo: "Make room, or raise the limit that is reached.",
  },
  store_away: {
    ...{ part: "Storage", level: "wrong", guide: "MintyardStoreAway#cure" },
    says: "The store of uploads does not answer.",
    todo: "Bring it back, or correct the setting that the log names.",
  },
  pins_failed: {
    ...{ part: "Storage", level: "warn", guide: "MintyardPinsFailed#cure" },
    says: "The pinning service refused uploads for good.",
    todo: "Cure what it says of them, then have them tried again.",
  },
};

export interface Trouble extends Advice {
  code: string;
  /** The chain or standby with the problem; empty: the whole installation. */
  where: string;
}

const none = { full: [], store: "ok" };

/** All problems, the worst first. A code that this page does not know is shown as it is. */
export function findTroubles({ database, clock, replicas, chains, pins, storage = none }: Status): Trouble[] {
  const found = chains.flatMap(({ chain, troubles }) => troubles.map((code) => ({ code, where: chain })));
  const add = (code: string, where = "") => found.push({ code, where });
  if (database !== "ok") add(`database_${database}`);
  if (clock.wrong) add("clock_wrong");
  for (const { replica, trouble } of replicas)
    if (trouble) add("replica_out", `Standby ${replica}, ${trouble.replaceAll("_", " ")}`);
  for (const mark of storage.full) add("storage_full", mark.replaceAll("_", " "));
  if (storage.store !== "ok") add("store_away");
  if ((pins["failed"] ?? 0) > 0) add("pins_failed");
  const troubles = found.map(({ code, where }) => ({ ...(advices[code] ?? unknown(code)), code, where }));
  return troubles.sort((a, b) => Number(a.level === "warn") - Number(b.level === "warn"));
}

function unknown(code: string): Advice {
  const says = `${code.replaceAll("_", " ")}.`;
  return { part: "Transactions", level: "warn", says, todo: "The runbooks may know it.", guide: "runbooks#runbooks" };
}
