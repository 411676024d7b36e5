import { setTimeout as sleep } from "node:timers/promises";
import type { Transaction } from "kysely";
import type { Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import { SignerError } from "../../signing/trouble.ts";
import type { RelayContext } from "../chain/context.ts";
import { most } from "../chain/fees.ts";
import { batched } from "../store/batch.ts";
import { failpoint } from "../store/failpoint.ts";
import type { Intent } from "../store/intents.ts";
import { waitForTurn } from "../store/turns.ts";
import { lockWallet, nameWallet, openReservations, updateWallet } from "../store/wallets.ts";
import { tooLittle } from "./choose-wallet.ts";
import {
  type Batch,
  callOfBatch,
  hasRoomFor,
  isPaid,
  joinMembers,
  lockUnmoved,
  mostMints,
  type Simulated,
  worstCase,
} from "./form-batch.ts";
import { mayShare, shareName } from "./preflight.ts";
import { reconcileNonces } from "./reconcile-nonces.ts";
import { planAttempt, type SignedAttempt, signPlan, storeSigned } from "./sign-attempt.ts";

type SigningOutcome =
  /** Its bytes are on disk, or it joined another request's transaction, whose bytes are. */
  | { kind: "signed"; intent: Intent }
  /** Another process moved the intent, or the wallet was reconciled just now. */
  | { kind: "again" }
  /** The intent keeps its state, and trying again in a moment may help. */
  | { kind: "wait"; reason: string }
  /** Something has to change first; the intent is held. */
  | { kind: "hold"; reason: "balance" | "wallet"; message: string }
  /** The error that prevented its signature. */
  | { kind: "failed"; error: unknown };

interface SigningRequest extends Simulated {
  chain: Chain;
  /** Of the chain that the node serves. */
  genesisHash: Hash;
}

/** How long a mint waits for others that may share its transaction and are still being simulated. */
const mostGatherMs = 150;

/**
 * A queue per wallet: a second commit would only wait for the wallet's row, and occupy a connection. A mint that may
 * share a transaction waits for others of its contract that are on their way.
 */
const signInLine = batched(signAll, {
  most: 32,
  retryIndividually: "in turn",
  timeoutMs: 15_000,
  gather: async ({ relay }: RelayContext, waiting: () => readonly SigningRequest[]) => {
    const [first] = waiting();
    if (!first || !mayShare(first.intent) || first.ready.callsReceiver) return;
    const name = shareName(first.intent);
    for (const end = performance.now() + mostGatherMs; performance.now() < end; await sleep(2)) {
      const full = waiting().length >= mostMints;
      if (full || relay.wallets.comingOf(name) === 0) return;
    }
  },
});

/**
 * Assigns an intent the next nonce of its wallet, for ever, and signs it there: nonce and bytes are stored in one
 * commit, which locks the wallet's row. Nothing is sent. Intents that arrive while the row is locked share the next
 * such commit. Mints of one account and contract share one nonce.
 *
 * @param simulated a queued or held intent, and what it may cost.
 * @param genesisHash of the chain that the node serves.
 * @throws SignerError, Error: the reason why this intent alone was not signed.
 */
export async function signNext(
  services: RelayContext,
  chain: Chain,
  { intent, ready }: Simulated,
  genesisHash: Hash,
): Promise<Exclude<SigningOutcome, { kind: "failed" }>> {
  const line = `${chain.id} ${ready.sender} ${genesisHash}`;
  services.relay.wallets.arrived(intent.id);
  const outcome = await signInLine(services, line, { chain, intent, ready, genesisHash });
  if (outcome.kind === "failed") throw outcome.error;
  if (outcome.kind === "signed") failpoint("sign-after-persist");
  return outcome;
}

/** @param requests of one chain and relayer wallet. Of a contract's updates only the first may go (`waitForTurn`). */
async function signAll(
  services: RelayContext,
  requests: readonly SigningRequest[],
): Promise<readonly SigningOutcome[]> {
  const [first] = requests;
  if (!first) return [];
  const { chain, ready } = first;
  const same = (outcome: SigningOutcome) => requests.map(() => outcome);
  // A second pass, because the first may only reconcile the wallet or create its row.
  for (let pass = 0; pass < 2; pass += 1) {
    const outcomes = await services.db.transaction().execute((db) => signWithin(services, db, first, requests));
    if (outcomes !== "unreconciled") return outcomes;
    const unready = await reconcileNonces(services, chain, ready.sender);
    if (unready) return same(unready.soon ? { kind: "wait", reason: unready.reason } : hold("wallet", unready.reason));
  }
  return same({ kind: "again" });
}

async function signWithin(
  services: RelayContext,
  db: Transaction<Database>,
  first: SigningRequest,
  requests: readonly SigningRequest[],
): Promise<"unreconciled" | SigningOutcome[]> {
  const { chain, genesisHash, ready } = first;
  const addr = toBytes(ready.sender);
  const name = nameWallet(chain, ready.sender);
  const wallet = await lockWallet(db, chain.id, addr, ready.chainNonce, genesisHash);
  if (!wallet.genesis_hash.equals(toBytes(genesisHash)))
    return requests.map(() => hold("wallet", "the node serves another chain than this wallet's transactions went to"));
  // The counts were read before the lock, so each was right a moment ago; the highest is the newest.
  const mined = requests.map(({ ready: { chainNonce } }) => chainNonce).reduce(most);
  // False also if the chain is ahead: only we assign nonces, so a transaction was sent that the database does not know.
  const isReconciled = mined <= wallet.next_nonce && services.relay.wallets.isReconciled(name, wallet);
  if (wallet.state === "open" && !isReconciled) return "unreconciled";
  const open = await openReservations(db, chain.id, addr, { mined, unsignedWei: worstCase(alone(first)) });
  const turn: Turn = { services, db, chain, addr, wallet, open, outcomes: new Map() };
  const next = await signBatches(turn, await chooseBatches(turn, requests));
  failpoint("sign-before-commit");
  // Set before the commit, whose answer may be lost: a row behind this value has the wallet reconciled again.
  if (next > wallet.next_nonce) services.relay.wallets.reconciled(name, next);
  return requests.map((request) => turn.outcomes.get(request) ?? { kind: "again" });
}

/** A wallet with its row locked, its transactions under way, and the outcomes of the requests for its next nonces. */
interface Turn {
  services: RelayContext;
  db: Transaction<Database>;
  chain: Chain;
  addr: Buffer;
  wallet: Awaited<ReturnType<typeof lockWallet>>;
  open: Awaited<ReturnType<typeof openReservations>>;
  outcomes: Map<Simulated, SigningOutcome>;
}

/** Chooses the requests to sign now, one batch per nonce. The others get their outcome. */
async function chooseBatches(turn: Turn, requests: readonly Simulated[]): Promise<Batch[]> {
  const { outcomes } = turn;
  const batches: Batch[] = [];
  for (const [index, request] of requests.entries()) {
    // The same request twice: the other one takes the nonce.
    if (requests.findIndex(({ intent }) => intent.id === request.intent.id) < index) {
      outcomes.set(request, { kind: "again" });
      continue;
    }
    const batch = batches.find((each) => hasRoomFor(each, request));
    const before = batch ? worstCase(batch) : 0n;
    const after = worstCase(batch ? { ...batch, members: [...batch.members, request] } : alone(request));
    const ahead = batch ? batches.indexOf(batch) : batches.length;
    const refusal = await refuse(turn, request, { neededWei: after - before, ahead });
    if (refusal) {
      outcomes.set(request, refusal);
      continue;
    }
    if (batch) batch.members.push(request);
    else batches.push(alone(request));
    turn.open.reservedWei += after - before;
  }
  // A batch that would cost more than its reservations is split into single requests, as far as there is capacity.
  let nonces = batches.length;
  return batches.flatMap((batch) => {
    if (batch.members.length === 0 || isPaid(batch)) return [batch];
    const apart = batch.members.filter((request) => {
      const full = isFull(turn, nonces);
      if (full) outcomes.set(request, full);
      else nonces += 1;
      return !full;
    });
    return [batch.lead, ...apart].map(alone);
  });
}

/** @param ahead nonces that are assigned before its own. @returns null when it may have one. */
async function refuse(
  { services, db, chain, addr, wallet, open }: Turn,
  { intent, ready }: Simulated,
  { neededWei, ahead }: { neededWei: bigint; ahead: number },
): Promise<SigningOutcome | null> {
  if (wallet.state === "paused_funds") return hold("balance", tooLittle);
  if (wallet.state !== "open") return hold("wallet", `the wallet is ${wallet.state}`);
  const full = isFull({ chain, open }, ahead);
  if (full) return full;
  const reason = await waitForTurn(db, intent, addr, ready.call.basis);
  if (reason) return { kind: "wait", reason };
  if (ready.balanceWei - open.reservedWei >= neededWei) return null;
  wallet.state = "paused_funds";
  await updateWallet(db, { chain_id: chain.id, addr })
    .set({ state: "paused_funds", needed_wei: neededWei, needed_for: intent.id })
    .execute();
  services.log.error({ chain: chain.id, wallet: ready.sender, needed: neededWei }, "a wallet needs funds");
  return hold("balance", tooLittle);
}

function isFull({ chain, open }: Pick<Turn, "chain" | "open">, ahead: number): SigningOutcome | null {
  const pending = open.pending + ahead;
  return pending < chain.relay.maxPending ? null : { kind: "wait", reason: `${pending} transactions are under way` };
}

/**
 * Signs the batches at the wallet's next nonces, in their order, and stores nonces and bytes.
 *
 * @returns the wallet's counter afterwards.
 */
async function signBatches(turn: Turn, batches: readonly Batch[]): Promise<bigint> {
  const { services, db, chain, addr, wallet, outcomes } = turn;
  const all = batches.flatMap(({ lead, members }) => [lead, ...members]);
  if (all.length === 0) return wallet.next_nonce;
  const unmoved = await lockUnmoved(db, all);
  let left = batches.flatMap((batch) => unmovedOf(batch, unmoved));
  failpoint("nonce-before-signature");
  let signed: SignedAttempt[] = [];
  while (signed.length < left.length) {
    const tries = await Promise.allSettled(
      left.map(({ lead, members }, index) => {
        const own = planAttempt(lead.intent, lead.ready);
        const plan = members.length === 0 ? own : { ...own, ...callOfBatch({ lead, members }) };
        return signPlan(services, chain, { intent: lead.intent, addr, nonce: wallet.next_nonce + BigInt(index), plan });
      }),
    );
    signed = tries.flatMap((tried) => (tried.status === "fulfilled" ? [tried.value] : []));
    const away = tries.find(isAway);
    if (away) {
      // Nothing of this is stored, and asking again would lock the row for as long again.
      for (const { lead, members } of left)
        for (const request of [lead, ...members]) outcomes.set(request, { kind: "failed", error: away.reason });
      return wallet.next_nonce;
    }
    // An unsigned batch leaves a gap in the nonces: the remaining batches are signed again without it.
    for (const [index, tried] of tries.entries())
      if (tried.status === "rejected" && left[index])
        outcomes.set(left[index].lead, { kind: "failed", error: tried.reason });
    left = left.filter((_, index) => tries[index]?.status === "fulfilled");
    if (signed.length < tries.length) signed = [];
  }
  if (left.length === 0) return wallet.next_nonce;
  failpoint("sign-before-persist");
  await store(turn, left, signed);
  return wallet.next_nonce + BigInt(left.length);
}

/** The signer signs nothing at all now. */
function isAway(tried: PromiseSettledResult<unknown>): tried is PromiseRejectedResult {
  if (tried.status === "fulfilled" || !(tried.reason instanceof SignerError)) return false;
  return tried.reason.trouble === "unreachable" || tried.reason.trouble === "unauthorized";
}

/** A batch without those that another process moved; none at all without its lead. */
function unmovedOf({ lead, members }: Batch, unmoved: ReadonlySet<string>): Batch[] {
  if (!unmoved.has(lead.intent.id)) return [];
  const batch = { lead, members: members.filter(({ intent }) => unmoved.has(intent.id)) };
  // Fewer members than planned may have reserved too little.
  return [batch.members.length === 0 || isPaid(batch) ? batch : alone(lead)];
}

/** @param signed one per batch, in their order. */
async function store({ db, outcomes }: Turn, batches: readonly Batch[], signed: SignedAttempt[]): Promise<void> {
  for (const [index, batch] of batches.entries()) {
    const own = signed[index];
    if (!own || batch.members.length === 0) continue;
    const joined = await joinMembers(db, batch, own.plan);
    signed[index] = { ...own, intent: joined.lead };
    for (const intent of joined.members) {
      const request = batch.members.find((member) => member.intent.id === intent.id);
      if (request) outcomes.set(request, { kind: "signed", intent });
    }
  }
  const stored = await storeSigned(db, signed, true);
  if (stored.length < signed.length) throw new Error("a request was moved while its row was locked");
  for (const [index, intent] of stored.entries()) {
    const lead = batches[index]?.lead;
    if (lead) outcomes.set(lead, { kind: "signed", intent });
  }
}

function alone(lead: Simulated): Batch {
  return { lead, members: [] };
}

function hold(reason: "balance" | "wallet", message: string): SigningOutcome {
  return { kind: "hold", reason, message };
}
