import { sql } from "kysely";
import type { Address } from "viem";
import type { Chain } from "../../chains.ts";
import type { RelayContext } from "../chain/context.ts";
import { isOperation } from "../chain/operation.ts";
import { batched } from "../store/batch.ts";
import { toAddress } from "../store/bytes.ts";
import type { Intent } from "../store/intents.ts";

export type LaneChoice =
  /** `isNew`: no nonce of it was given out yet. `found`: nonces in use wait for the requests that they belong to. */
  | { kind: "lane"; sender: Address; isNew: boolean; found: boolean }
  /** No lane is open. */
  | { kind: "hold"; reason: "balance" | "lane"; message: string; found: boolean };

export const tooLittle = "the wallet that pays deployments has too little; the operator has to fund it";

export const withoutRole =
  "no paying wallet has the relayer role of the factory or operator; it goes on by itself once the operator has granted it";

/** Requests that come together look together. */
const readTogether = batched(
  async (services: RelayContext, chainIds: readonly number[]) => {
    const lanes = await services.db
      .selectFrom("service.lane as l")
      .select(["l.addr", "l.state"])
      .select(
        sql<bigint>`(SELECT count(*) FROM service.slot s
        WHERE s.chain_id = l.chain_id AND s.addr = l.addr AND s.state = 'open')`.as("open"),
      )
      .select(
        sql<boolean>`EXISTS (SELECT FROM service.slot s WHERE s.chain_id = l.chain_id AND s.addr = l.addr
          AND s.found AND s.intent_id IS NULL AND s.state = 'open')`.as("found"),
      )
      .where("l.chain_id", "in", chainIds)
      .execute();
    return chainIds.map(() => lanes);
  },
  { most: 64, apart: false },
);

/** The paying wallets that an intent's transaction may come from. */
export async function sendersOf(services: RelayContext, chain: Chain, intent: Intent): Promise<readonly Address[]> {
  if (intent.kind === "update") return [services.relay.account(chain).address];
  return await (isOperation(intent.kind) ? services.relay.operating(chain) : services.relay.deployers(chain));
}

/**
 * The open lane with the least under way; whether it has room is seen later, with its row locked. Updates go to the
 * collections' admin wallet, whatever is under way there.
 */
export async function chooseLane(services: RelayContext, chain: Chain, intent: Intent): Promise<LaneChoice> {
  const senders = await sendersOf(services, chain, intent);
  if (senders.length === 0) return { kind: "hold", reason: "lane", message: withoutRole, found: false };
  const known = await readTogether(services, String(chain.id), chain.id);
  const found = known.some((lane) => lane.found);
  const standing = senders.map((sender) => {
    const lane = known.find(({ addr }) => toAddress(addr) === sender);
    return { sender, isNew: lane === undefined, state: lane?.state ?? "open", open: Number(lane?.open ?? 0) };
  });
  const [best] = standing.filter(({ state }) => state === "open").sort((a, b) => a.open - b.open);
  if (best) return { kind: "lane", sender: best.sender, isNew: best.isNew, found };
  if (standing.some(({ state }) => state === "paused_funds"))
    return { kind: "hold", reason: "balance", message: tooLittle, found };
  return { kind: "hold", reason: "lane", message: `the wallet's lane is ${standing[0]?.state}`, found };
}
