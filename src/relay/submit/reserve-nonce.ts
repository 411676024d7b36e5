import { sql, type Transaction } from "kysely";
import type { Hash } from "viem";
import type { Chain } from "../../chains.ts";
import { toBytes } from "../../db/bytes.ts";
import type { Database } from "../../db/database.ts";
import type { RelayContext } from "../chain/context.ts";
import type { Fees } from "../chain/fees.ts";
import { callKind, replacesRecord } from "../chain/operation.ts";
import { batched } from "../store/batch.ts";
import { failpoint } from "../store/failpoint.ts";
import { asMoved, type Intent, type Moved } from "../store/intents.ts";
import type { NonceReservation } from "../store/nonces.ts";
import { waitForTokenTurn } from "../store/token-order.ts";
import { waitForTurn } from "../store/update-order.ts";
import { lockWallet, nameWallet } from "../store/wallets.ts";
import { tooLittle } from "./choose-wallet.ts";
import {
  type Batch,
  type BatchCall,
  formBatch,
  hasRoomFor,
  isPaid,
  lockUnmoved,
  type Simulated,
  worstCase,
} from "./form-batch.ts";
import { mayShare, type Preflight } from "./preflight.ts";

export type Assignment =
  | { kind: "assigned"; intent: Intent; reservation: NonceReservation; call?: BatchCall }
  /** It is in the transaction of another one. */
  | { kind: "batched"; intent: Intent }
  /** Another process moved the intent. */
  | { kind: "lost" }
  /** The wallet's nonces in use have to be asked for first (nonce-basis.ts). */
  | { kind: "unchecked" }
  /** The wallet is full; the intent stays queued. */
  | { kind: "wait"; reason: string }
  /** Something has to change first; the intent is held. */
  | { kind: "hold"; reason: "balance" | "wallet"; message: string };

interface NonceRequest extends Simulated {
  chain: Chain;
  /** Of the chain that the node serves. */
  genesisHash: Hash;
}

/** The wallet's row is locked meanwhile, so a batch has its end. */
const assignTogether = batched(assignAll, { most: 32, retryIndividually: true });

/** What may share a transaction waits for others that are simulated at the same time. */
const shareTogether = batched(assignAll, { most: 32, retryIndividually: true, gatherMs: 10 });

/**
 * Binds an intent to the next nonce of the paying wallet, for ever, in one transaction that holds the
 * wallet's row. The intent must be queued. Those that come while the wallet's row is held share the next
 * such transaction: the row is what all of them wait for. Mints of one account and contract share one nonce.
 */
export async function reserveNonce(
  services: RelayContext,
  chain: Chain,
  intent: Intent,
  ready: Preflight & { fees: Fees },
  genesisHash: Hash,
): Promise<Assignment> {
  // What shares a transaction shares its cost. Updates look at each other's rows, so each goes alone.
  const shares = mayShare(intent);
  const name = replacesRecord(intent.kind)
    ? intent.id
    : `${shares ? intent.tenant_id : ""} ${chain.id} ${ready.sender} ${genesisHash}`;
  const assign = shares && !ready.callsReceiver ? shareTogether : assignTogether;
  const assignment = await assign(services, name, { chain, intent, ready, genesisHash });
  if (assignment.kind === "assigned") failpoint("assign-after-commit");
  return assignment;
}

/** @param requests of one chain and one paying wallet, mints of one account; an update is alone. */
async function assignAll(services: RelayContext, requests: readonly NonceRequest[]): Promise<Assignment[]> {
  const [first] = requests;
  if (!first) return [];
  const { chain, genesisHash } = first;
  const addr = toBytes(first.ready.sender);
  const assignments = await services.db.transaction().execute(async (transaction): Promise<Assignment[]> => {
    const walletRow = await lockWallet(transaction, chain.id, addr, first.ready.chainNonce, genesisHash);
    if (!walletRow.genesis_hash.equals(toBytes(genesisHash))) {
      const other = "the node serves another chain than the one this wallet's transactions went to";
      return requests.map(() => hold("wallet", other));
    }
    // Also where the chain is ahead: only we give out nonces, so somebody did who is not remembered.
    const { basis } = services.relay;
    const behind = requests.some(({ ready }) => ready.chainNonce > walletRow.next_nonce);
    if (walletRow.state === "open" && (behind || !basis.holds(nameWallet(chain, first.ready.sender), walletRow)))
      return requests.map(() => ({ kind: "unchecked" }));
    // The counts were read before the lock, so each was right a moment ago; the highest is the newest.
    const [mined = 0n] = requests.map(({ ready }) => ready.chainNonce).sort((a, b) => Number(b - a));
    const open = await openReservations(transaction, chain.id, addr, {
      mined,
      unsignedWei: worstCase({ lead: first, members: [] }),
    });
    const turn: Turn = { services, db: transaction, chain, addr, wallet: walletRow, open };
    const assignments = new Map<NonceRequest, Assignment>();
    const batches = await chooseBatches(turn, requests, assignments);
    await giveNonces(turn, batches, assignments);
    failpoint("assign-before-commit");
    return requests.map((request) => assignments.get(request) ?? { kind: "lost" });
  });
  const given = assignments.flatMap((assignment) => (assignment.kind === "assigned" ? [assignment.reservation] : []));
  given.sort((a, b) => Number(a.nonce - b.nonce));
  const last = given.at(-1);
  if (last) services.relay.basis.record(nameWallet(chain, first.ready.sender), last.nonce + 1n);
  for (const { intent_id: id } of given)
    if (id !== null) services.relay.order.take(`${chain.id} ${first.ready.sender}`, id);
  return assignments;
}

/** A wallet with its row locked, and what is under way from it. */
interface Turn {
  services: RelayContext;
  db: Transaction<Database>;
  chain: Chain;
  addr: Buffer;
  wallet: Awaited<ReturnType<typeof lockWallet>>;
  open: Awaited<ReturnType<typeof openReservations>>;
}

/**
 * Which requests get a nonce now, one for each batch.
 *
 * @param assignments gets what becomes of the others.
 */
async function chooseBatches(
  turn: Turn,
  requests: readonly NonceRequest[],
  assignments: Map<NonceRequest, Assignment>,
): Promise<Batch<NonceRequest>[]> {
  const batches: Batch<NonceRequest>[] = [];
  for (const [index, request] of requests.entries()) {
    // Two equal requests: the other one takes the nonce.
    if (requests.findIndex(({ intent }) => intent.id === request.intent.id) < index) {
      assignments.set(request, { kind: "lost" });
      continue;
    }
    const batch = batches.find((each) => hasRoomFor(each, request));
    const before = batch ? worstCase(batch) : 0n;
    const after = worstCase(batch ? { ...batch, members: [...batch.members, request] } : alone(request));
    const ahead = batch ? batches.indexOf(batch) : batches.length;
    const refusal = await refuse(turn, request, { neededWei: after - before, ahead });
    if (refusal) {
      assignments.set(request, refusal);
      continue;
    }
    if (batch) batch.members.push(request);
    else batches.push(alone(request));
    turn.open.reservedWei += after - before;
  }
  // Where together they would cost more than they have set aside, each goes alone, as far as there is room.
  let nonces = batches.length;
  return batches.flatMap((batch) => {
    if (batch.members.length === 0 || isPaid(batch)) return [batch];
    const apart = batch.members.filter((request) => {
      const full = isFull(turn, nonces);
      if (full) assignments.set(request, full);
      else nonces += 1;
      return !full;
    });
    return [batch.lead, ...apart].map(alone);
  });
}

/** @param ahead nonces that are given before its own. @returns null when it may have one. */
async function refuse(
  { services, db, chain, addr, wallet, open }: Turn,
  { intent, ready }: NonceRequest,
  { neededWei, ahead }: { neededWei: bigint; ahead: number },
): Promise<Assignment | null> {
  if (wallet.state === "paused_funds") return hold("balance", tooLittle);
  if (wallet.state !== "open") return hold("wallet", `the wallet is ${wallet.state}`);
  const full = isFull({ chain, open }, ahead);
  if (full) return full;
  const turn = (await waitForTurn(db, intent, addr, ready.call.basis)) ?? (await waitForTokenTurn(db, intent, addr));
  if (turn) return { kind: "wait", reason: turn };
  if (ready.balanceWei - open.reservedWei >= neededWei) return null;
  wallet.state = "paused_funds";
  await pauseWallet(db, chain.id, addr, neededWei);
  services.log.error({ chain: chain.id, wallet: ready.sender, needed: neededWei }, "a wallet needs funds");
  return hold("balance", tooLittle);
}

function isFull({ chain, open }: Pick<Turn, "chain" | "open">, ahead: number): Assignment | null {
  const pending = open.pending + ahead;
  return pending < chain.relay.maxPending ? null : { kind: "wait", reason: `${pending} deployments are being mined` };
}

async function giveNonces(
  { db, chain, addr, wallet }: Turn,
  batches: readonly Batch<NonceRequest>[],
  assignments: Map<NonceRequest, Assignment>,
): Promise<void> {
  const all = batches.flatMap(({ lead, members }) => [lead, ...members]);
  const unmoved = all.length > batches.length ? await lockUnmoved(db, all) : new Set<string>();
  const leads: { request: NonceRequest; intent: Intent; call?: BatchCall }[] = [];
  for (const batch of batches) {
    const formed = batch.members.length > 0 ? await formBatch(db, batch, unmoved) : null;
    const intent = formed?.lead ?? batch.lead.intent;
    leads.push({ request: batch.lead, intent, ...(formed && { call: formed.call }) });
    for (const request of batch.members) {
      const member = formed?.members.get(request.intent.id);
      assignments.set(request, member ? { kind: "batched", intent: member } : { kind: "lost" });
    }
  }
  const next = wallet.next_nonce;
  const intents = leads.map(({ intent }) => intent);
  const moved = await takeNonces(db, intents, { chain_id: chain.id, addr, next });
  for (const { request, intent, call } of leads) {
    const pair = moved.get(intent.id);
    assignments.set(request, pair ? { kind: "assigned", ...pair, ...(call && { call }) } : { kind: "lost" });
  }
}

function alone(lead: NonceRequest): Batch<NonceRequest> {
  return { lead, members: [] };
}

function hold(reason: "balance" | "wallet", message: string): Assignment {
  return { kind: "hold", reason, message };
}

async function pauseWallet(transaction: Transaction<Database>, chainId: number, addr: Buffer, neededWei: bigint) {
  await transaction
    .updateTable("service.relayer_wallet")
    .set({ state: "paused_funds", needed_wei: neededWei })
    .where("chain_id", "=", chainId)
    .where("addr", "=", addr)
    .execute();
}

/** Each intent that still is as it was seen gets the next nonce, in the order they were accepted. */
async function takeNonces(
  transaction: Transaction<Database>,
  intents: readonly Intent[],
  { chain_id, addr, next }: { chain_id: number; addr: Buffer; next: bigint },
): Promise<Map<string, { intent: Intent; reservation: NonceReservation }>> {
  if (intents.length === 0) return new Map();
  const ids = intents.map(({ id }) => id);
  const versions = intents.map(({ version }) => version);
  const { rows } = await sql<Moved & { nonce: bigint; created_at: Date }>`
    WITH moved AS (
      UPDATE service.intent i SET state = 'assigned', version = seen.version + 1, hold_reason = NULL, hold_detail = NULL
      FROM unnest(${ids}::uuid[], ${versions}::int[]) AS seen (id, version)
      WHERE i.id = seen.id AND i.state = 'queued' AND i.version = seen.version
      RETURNING i.id, i.seq, i.kind, i.state, i.version, i.updated_at, i.settled_at),
    taken AS (
      INSERT INTO service.nonce_reservation (chain_id, addr, nonce, intent_id, kind)
      SELECT ${chain_id}::int, ${addr}::bytea, ${next}::bigint - 1 + row_number() OVER (ORDER BY seq), id,
        CASE WHEN kind IN ('deploy', 'update') THEN kind ELSE 'operate' END FROM moved
      RETURNING intent_id, nonce, created_at),
    counted AS (
      UPDATE service.relayer_wallet l SET next_nonce = greatest(l.next_nonce, ${next}::bigint + (SELECT count(*) FROM moved))
      WHERE l.chain_id = ${chain_id}::int AND l.addr = ${addr}::bytea)
    SELECT moved.id, moved.state, moved.version, moved.updated_at, moved.settled_at, taken.nonce, taken.created_at
    FROM moved JOIN taken ON taken.intent_id = moved.id`.execute(transaction);
  const seen = new Map(intents.map((intent) => [intent.id, intent] as const));
  return new Map(
    rows.flatMap(({ nonce, created_at, ...moved }) => {
      const before = seen.get(moved.id);
      if (!before) return [];
      const key = { chain_id, addr, nonce, intent_id: moved.id, kind: callKind(before.kind), created_at };
      const unmined = { mined_block: null, mined_block_hash: null, mined_attempt: null, mined_cost_wei: null };
      return [
        [moved.id, { intent: asMoved(before, moved), reservation: { ...key, state: "open" as const, ...unmined } }],
      ];
    }),
  );
}

/**
 * What is under way and could at worst still be spent.
 *
 * @param mined the wallet's transactions in the newest block: what is below is waiting for nothing but our own look.
 * @param unsignedWei what a nonce whose bytes are not stored yet may cost: about what the next one does.
 */
async function openReservations(
  transaction: Transaction<Database>,
  chainId: number,
  addr: Buffer,
  { mined, unsignedWei }: { mined: bigint; unsignedWei: bigint },
) {
  const { rows } = await sql<{ pending: bigint; reserved: string }>`
    SELECT count(*) FILTER (WHERE s.nonce >= ${mined}) AS pending,
      coalesce(sum(coalesce(w.worst, ${unsignedWei}::numeric)), 0) AS reserved
    FROM service.nonce_reservation s, LATERAL (
      SELECT max(a.max_fee * a.gas + a.data_wei) AS worst FROM service.attempt a
      WHERE a.chain_id = s.chain_id AND a.addr = s.addr AND a.nonce = s.nonce) w
    WHERE s.chain_id = ${chainId} AND s.addr = ${addr} AND s.state = 'open'`.execute(transaction);
  const [row] = rows;
  return { pending: Number(row?.pending ?? 0), reservedWei: BigInt(row?.reserved ?? 0) };
}
