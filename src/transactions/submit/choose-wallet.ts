import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { batched } from "../store/batch.ts";
import { type Intent, isOperation } from "../store/intents.ts";
import { nameWallet } from "../store/wallets.ts";
import { mayShare } from "./preflight.ts";

export type WalletChoice =
  /**
   * `isNew`: it has assigned no nonce yet. `found`: nonces in use wait for the requests that they belong to.
   * `recovered`: some transactions under way were recovered, whether a request has claimed them or not.
   */
  | { kind: "wallet"; sender: Address; isNew: boolean; found: boolean; recovered: boolean }
  /** Every open wallet has reached its limit of pending transactions. */
  | { kind: "full"; reason: string; found: boolean; recovered: boolean }
  /** No wallet is open. */
  | { kind: "hold"; reason: "balance" | "wallet"; message: string; found: boolean; recovered: boolean };

export const tooLittle = "the wallet that pays deployments has too little; the operator has to fund it";

const withoutRole = (of: "factory" | "operator") =>
  `no paying wallet has the ${of}'s relayer role; it goes on by itself once an administrator has granted it`;

interface KnownWallet {
  addr: Buffer;
  state: string;
  next: bigint;
  /** Transactions not yet seen in a block. */
  open: number;
  found: boolean;
  recovered: boolean;
}

/** Requests that arrive at the same time share a read. */
const readTogether = batched(
  async (services: RelayContext, chainIds: readonly number[]) => {
    const { rows } = await sql<KnownWallet>`
      SELECT l.addr, l.state, l.next_nonce AS next, count(s.nonce)::int AS open,
        count(s.nonce) FILTER (WHERE s.found AND s.intent_id IS NULL) > 0 AS found,
        count(s.nonce) FILTER (WHERE s.found) > 0 AS recovered
      FROM service.relayer_wallet l LEFT JOIN service.nonce_reservation s
        ON s.chain_id = l.chain_id AND s.addr = l.addr AND s.state = 'open'
      WHERE l.chain_id = ANY (${chainIds}::int[]) GROUP BY l.chain_id, l.addr`.execute(services.db);
    return chainIds.map(() => rows);
  },
  { most: 64, retryIndividually: false },
);

/** The relayer wallets that may send an intent's transaction. */
export async function sendersOf(services: RelayContext, chain: Chain, intent: Intent): Promise<readonly Address[]> {
  if (intent.kind === "update") return [services.relay.account(chain).address];
  return await (isOperation(intent.kind) ? services.relay.operating(chain) : services.relay.deployers(chain));
}

/**
 * Chooses the open wallet with the fewest transactions under way that has capacity, as far as this process knows; the
 * final check is made with its row locked. Updates of collections can only use the admin wallet.
 */
export async function chooseWallet(services: RelayContext, chain: Chain, intent: Intent): Promise<WalletChoice> {
  const senders = await sendersOf(services, chain, intent);
  if (senders.length === 0) {
    const message = withoutRole(isOperation(intent.kind) ? "operator" : "factory");
    return { kind: "hold", reason: "wallet", message, found: false, recovered: false };
  }
  const known = await readTogether(services, String(chain.id), chain.id);
  const seen = { found: known.some(({ found }) => found), recovered: known.some(({ recovered }) => recovered) };
  const candidates = senders.map((sender) => {
    const wallet = known.find(({ addr }) => toAddress(addr) === sender);
    const underWay = services.relay.wallets.underWay(nameWallet(chain, sender), wallet?.next ?? 0n);
    return { sender, isNew: !wallet, state: wallet?.state ?? "open", open: wallet?.open ?? 0, underWay };
  });
  const open = candidates.filter(({ state }) => state === "open");
  // Ordered requests go to the first open wallet, whose nonces keep the order. Mints may share the last free nonce.
  const ordered = intent.kind === "token_update" || intent.kind === "contract_update";
  const { maxPending } = chain.relay;
  const [best] = ordered
    ? open
    : open.filter(({ underWay }) => underWay < maxPending || mayShare(intent)).sort((a, b) => a.open - b.open);
  if (best) return { kind: "wallet", sender: best.sender, isNew: best.isNew, ...seen };
  const [full] = open;
  if (full) return { kind: "full", reason: `${full.underWay} transactions are under way`, ...seen };
  if (candidates.some(({ state }) => state === "paused_funds"))
    return { kind: "hold", reason: "balance", message: tooLittle, ...seen };
  return { kind: "hold", reason: "wallet", message: `the wallet is ${candidates[0]?.state}`, ...seen };
}
