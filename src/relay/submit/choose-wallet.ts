import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import { toAddress } from "../../db/bytes.ts";
import type { RelayContext } from "../chain/context.ts";
import { isOperation } from "../chain/operation.ts";
import { batched } from "../store/batch.ts";
import type { Intent } from "../store/intents.ts";

export type WalletChoice =
  /**
   * `isNew`: no nonce of it was given out yet. `found`: nonces in use wait for the requests that they belong to. `recovered`:
   * there are transactions under way that were found so, claimed or not.
   */
  | { kind: "wallet"; sender: Address; isNew: boolean; found: boolean; recovered: boolean }
  /** No wallet is open. */
  | { kind: "hold"; reason: "balance" | "wallet"; message: string; found: boolean };

export const tooLittle = "the wallet that pays deployments has too little; the operator has to fund it";

const withoutRole = (of: "factory" | "operator") =>
  `no paying wallet has the ${of}'s relayer role; it goes on by itself once an administrator has granted it`;

/** Requests that come together look together. */
const readTogether = batched(
  async (services: RelayContext, chainIds: readonly number[]) => {
    const wallets = await services.db
      .selectFrom("service.relayer_wallet as l")
      .select(["l.addr", "l.state"])
      .select(
        sql<bigint>`(SELECT count(*) FROM service.nonce_reservation s
        WHERE s.chain_id = l.chain_id AND s.addr = l.addr AND s.state = 'open')`.as("open"),
      )
      .select(
        sql<boolean>`EXISTS (SELECT FROM service.nonce_reservation s WHERE s.chain_id = l.chain_id AND s.addr = l.addr
          AND s.found AND s.intent_id IS NULL AND s.state = 'open')`.as("found"),
      )
      .select(
        sql<boolean>`EXISTS (SELECT FROM service.nonce_reservation s WHERE s.chain_id = l.chain_id AND s.addr = l.addr
          AND s.found AND s.state = 'open')`.as("recovered"),
      )
      .where("l.chain_id", "in", chainIds)
      .execute();
    return chainIds.map(() => wallets);
  },
  { most: 64, retryIndividually: false },
);

/** The paying wallets that an intent's transaction may come from. */
export async function sendersOf(services: RelayContext, chain: Chain, intent: Intent): Promise<readonly Address[]> {
  if (intent.kind === "update") return [services.relay.account(chain).address];
  return await (isOperation(intent.kind) ? services.relay.operating(chain) : services.relay.deployers(chain));
}

/**
 * The open wallet with the least under way, but for updates; whether it has room is seen later, with its row locked. Updates go to the
 * collections' admin wallet, whatever is under way there.
 */
export async function chooseWallet(services: RelayContext, chain: Chain, intent: Intent): Promise<WalletChoice> {
  const senders = await sendersOf(services, chain, intent);
  if (senders.length === 0) {
    const message = withoutRole(isOperation(intent.kind) ? "operator" : "factory");
    return { kind: "hold", reason: "wallet", message, found: false };
  }
  const known = await readTogether(services, String(chain.id), chain.id);
  const found = known.some((wallet) => wallet.found);
  const candidates = senders.map((sender) => {
    const wallet = known.find(({ addr }) => toAddress(addr) === sender);
    return { sender, isNew: wallet === undefined, state: wallet?.state ?? "open", open: Number(wallet?.open ?? 0) };
  });
  // What has to keep its order goes to the first open wallet: nonces keep it.
  const ordered = intent.kind === "token_update" || intent.kind === "contract_update";
  const [best] = candidates.filter(({ state }) => state === "open").sort((a, b) => (ordered ? 0 : a.open - b.open));
  const recovered = known.some((wallet) => wallet.recovered);
  if (best) return { kind: "wallet", sender: best.sender, isNew: best.isNew, found, recovered };
  if (candidates.some(({ state }) => state === "paused_funds"))
    return { kind: "hold", reason: "balance", message: tooLittle, found };
  return { kind: "hold", reason: "wallet", message: `the wallet is ${candidates[0]?.state}`, found };
}
