import { sql } from "kysely";
import { type Address, type Hex, parseTransaction } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes, toHex } from "../../db/bytes.ts";
import { loggable } from "../../rpc/nodes.ts";
import { calls } from "../../rpc/reads.ts";
import { operatorSelectors } from "../../signing/operator-calls.ts";
import { deploySelector, updateSelector } from "../../signing/rules.ts";
import { type SigningKind, signChecked } from "../../signing/signer.ts";
import type { RelayContext } from "../chain/context.ts";
import { bumpFees, type Fees, isRaised } from "../chain/fees.ts";
import { dataFee, dataRoom, isLegacy } from "../chain/market.ts";
import type { ChainView } from "../chain/view.ts";
import type { Attempt } from "../store/nonces.ts";
import { reconcileNonces } from "../submit/reconcile-nonces.ts";
import type { RelayMemory } from "./loop-steps.ts";
import { refreshWallets } from "./watch-wallets.ts";

/** Nonces per round, each wallet's lowest first: nonces behind them cannot be mined yet. */
const lowest = 50;
const cancellationGas = 21_000n;

interface FoundReservation {
  addr: Buffer;
  nonce: bigint;
  ageMs: number;
  /** Newest first. */
  attempts: Attempt[];
}

/**
 * One round over recovered nonces that belong to no known request. Bytes seen in a mempool are sent again and replaced
 * like others; a nonce whose transaction nobody has any more gets an empty transaction, since all nonces behind it
 * would wait for ever. `refreshWallets` records what was mined once it is final.
 */
export async function resubmitFound(services: RelayContext, chain: Chain, memory: RelayMemory): Promise<void> {
  await takeMissingBases(services, chain, memory);
  const reservations = await listFound(services, chain);
  if (reservations.length === 0) return;
  const view = await refreshWallets(services, chain, memory);
  for (const reservation of reservations) {
    const next = view.wallets.get(toAddress(reservation.addr))?.nonce;
    if (next === undefined || next > reservation.nonce) continue;
    try {
      if (reservation.nonce === next && isStale(chain, reservation, view.head))
        await replace(services, chain, reservation, view, memory);
      else await resend(services, chain, reservation, memory);
    } catch (error) {
      services.log.warn(
        { nonce: reservation.nonce, ...loggable(error) },
        "a nonce that was found in use could not be moved on",
      );
    }
  }
}

/** Reconciles wallets in a database other than before, without waiting for the first request that needs a nonce. */
async function takeMissingBases(services: RelayContext, chain: Chain, { basisReadAt }: RelayMemory): Promise<void> {
  const wallets = await services.db
    .selectFrom("service.relayer_wallet")
    .select("addr")
    .where("chain_id", "=", chain.id)
    .where("state", "=", "open")
    .where(sql<boolean>`basis IS DISTINCT FROM service.incarnation()`)
    .execute();
  for (const { addr } of wallets) {
    const wallet = toAddress(addr);
    const waitMs = chain.local ? 1_000 : 15_000;
    if (performance.now() - (basisReadAt.get(wallet) ?? Number.NEGATIVE_INFINITY) < waitMs) continue;
    basisReadAt.set(wallet, performance.now());
    const unready = await reconcileNonces(services, chain, wallet).catch((error: unknown) => loggable(error));
    if (unready) services.log.warn({ wallet, ...unready }, "the nonces in use of a paying wallet are not known yet");
  }
}

async function listFound(services: RelayContext, chain: Chain): Promise<FoundReservation[]> {
  const reservations = await services.db
    .selectFrom("service.nonce_reservation as s")
    .innerJoin("service.relayer_wallet as l", (join) =>
      join.onRef("l.chain_id", "=", "s.chain_id").onRef("l.addr", "=", "s.addr"),
    )
    .select(["s.addr", "s.nonce"])
    .select(sql<number>`(extract(epoch FROM clock_timestamp() - s.created_at) * 1000)::float8`.as("ageMs"))
    .where("s.chain_id", "=", chain.id)
    .where(sql<boolean>`s.found AND s.intent_id IS NULL AND s.state = 'open'`)
    // A closed wallet signs nothing.
    .where("l.state", "not in", ["reconcile", "halted"])
    .orderBy("s.nonce")
    .limit(lowest)
    .execute();
  if (reservations.length === 0) return [];
  const attempts = await services.db
    .selectFrom("service.attempt")
    .selectAll()
    .where("chain_id", "=", chain.id)
    .where(
      "nonce",
      "in",
      reservations.map(({ nonce }) => nonce),
    )
    .orderBy("created_at", "desc")
    .execute();
  return reservations.map((reservation) => ({
    ...reservation,
    attempts: attempts.filter(({ addr, nonce }) => nonce === reservation.nonce && addr.equals(reservation.addr)),
  }));
}

/** A recovered transaction gets time to be mined as it is; what we signed since is replaced by the usual rule. */
function isStale(chain: Chain, { attempts, ageMs }: FoundReservation, head: bigint): boolean {
  const [newest] = attempts;
  if (newest?.head_block != null) return head - newest.head_block >= BigInt(chain.relay.bumpAfterBlocks);
  return ageMs > (chain.local ? 5_000 : 120_000);
}

async function resend(
  services: RelayContext,
  chain: Chain,
  reservation: FoundReservation,
  memory: RelayMemory,
): Promise<void> {
  const [newest] = reservation.attempts;
  const name = `found ${toHex(reservation.addr)} ${reservation.nonce}`;
  const waitMs = chain.local ? 500 : 15_000;
  if (!newest || performance.now() - (memory.sentFound.get(name) ?? Number.NEGATIVE_INFINITY) < waitMs) return;
  memory.sentFound.set(name, performance.now());
  await sendEverywhere(services, chain, toHex(newest.raw));
}

async function replace(
  services: RelayContext,
  chain: Chain,
  reservation: FoundReservation,
  view: ChainView,
  memory: RelayMemory,
): Promise<void> {
  const wallet: Address = toAddress(reservation.addr);
  const signer = services.relay.signers(chain).find(({ address }) => address.toLowerCase() === wallet);
  if (!signer) return;
  const [newest] = reservation.attempts;
  const call = newest ? parseTransaction(toHex(newest.raw)) : null;
  const cap = chain.relay.maxFeeWei;
  const old = newest && { maxFeePerGas: BigInt(newest.max_fee), maxPriorityFeePerGas: BigInt(newest.tip) };
  const fees = old ? bumpFees(old, view.fees, cap) : view.fees.maxFeePerGas <= cap ? view.fees : null;
  if (!fees || (old && !isRaised(old, fees))) return await resend(services, chain, reservation, memory);
  // Signs only the recovered call, which was checked when it was stored (reconcile-nonces.ts), or an empty transaction.
  const to = call?.to ?? wallet;
  const data: Hex = call?.data ?? "0x";
  const gas = call?.gas ?? cancellationGas;
  const kind = kindOf(data);
  // Only the operator's own command grants a role; it sends the bytes again when it is repeated.
  if (!kind) return;
  const own = { chainId: chain.id, to, data, value: 0n, gas, ...fees, nonce: Number(reservation.nonce) };
  const price = fees.maxFeePerGas;
  const transaction = isLegacy(chain) ? { ...own, maxPriorityFeePerGas: price, legacy: true } : own;
  const { raw, hash } = await signChecked(signer, { kind, transaction });
  services.log.info(
    { wallet, nonce: reservation.nonce, empty: call === null, ...fees },
    "filling a nonce that was found in use",
  );
  const dataWei = dataRoom * dataFee(view, data);
  const attempt = { hash: toBytes(hash), raw: toBytes(raw), gas, dataWei, fees, head: view.head, empty: call === null };
  if (await keepReplacement(services, chain, reservation, attempt)) await sendEverywhere(services, chain, raw);
}

interface Replacement {
  hash: Buffer;
  raw: Buffer;
  gas: bigint;
  dataWei: bigint;
  fees: Fees;
  /** The newest block when it was signed. */
  head: bigint;
  /** An empty transaction that only uses the nonce up. */
  empty: boolean;
}

/** @returns false when another process was faster, or a request has claimed the nonce: then these bytes are void. */
async function keepReplacement(
  services: RelayContext,
  chain: Chain,
  reservation: FoundReservation,
  { hash, raw, gas, dataWei, fees, head, empty }: Replacement,
): Promise<boolean> {
  const own = sql`chain_id = ${chain.id} AND addr = ${reservation.addr} AND nonce = ${reservation.nonce}`;
  return await services.db.transaction().execute(async (db) => {
    const { rows: open } = await sql<{ kind: string }>`
      SELECT kind, set_config('synchronous_commit', 'on', true) FROM service.nonce_reservation
      WHERE ${own} AND found AND intent_id IS NULL AND state = 'open' FOR UPDATE`.execute(db);
    const { rows: known } = await sql<{ hash: Buffer }>`SELECT hash FROM service.attempt WHERE ${own}`.execute(db);
    // The fees were raised from the attempts read before: two that replace the same one are too close for a node.
    const seen = reservation.attempts.length === known.length;
    if (!open[0] || !seen) return false;
    await sql`
      INSERT INTO service.attempt (hash, chain_id, addr, nonce, kind, raw, max_fee, tip, gas, data_wei, head_block)
      VALUES (${hash}, ${chain.id}, ${reservation.addr}, ${reservation.nonce}, ${empty ? "cancellation" : open[0].kind}, ${raw},
        ${String(fees.maxFeePerGas)}::numeric, ${String(fees.maxPriorityFeePerGas)}::numeric, ${gas}, ${String(dataWei)}::numeric, ${head})`.execute(
      db,
    );
    return true;
  });
}

function kindOf(data: Hex): SigningKind | null {
  if (data === "0x") return "cancellation";
  const selector = data.slice(0, 10);
  if ((Object.values(operatorSelectors) as string[]).includes(selector)) return "operate";
  return selector === deploySelector ? "deploy" : selector === updateSelector ? "update" : null;
}

/** Answers decide nothing: only a mined transaction does. */
async function sendEverywhere(services: RelayContext, chain: Chain, raw: Hex): Promise<void> {
  const nodes = await services.relay.nodes(chain).all();
  await Promise.allSettled(nodes.map((node) => node.ask([calls.send(raw)])));
}
