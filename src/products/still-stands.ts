import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { confirmedStates } from "../collections/get-deployment.ts";
import { toAddress } from "../db/bytes.ts";
import type { IntentKind } from "../db/tables/relay.ts";
import { ServiceError } from "../errors/errors.ts";
import { askNode } from "../relay/chain/node-failure.ts";
import type { Intent } from "../relay/store/intents.ts";
import { tokensOf } from "../relay/store/operation-payload.ts";
import type { Services } from "../services.ts";
import type { Product } from "./find-product.ts";
import { getRequest } from "./get-request.ts";
import { isMinted, readTokenOwner } from "./read-token.ts";

/**
 * Whether what a request did is still so: an equal request without a key repeats it then, and is another one otherwise.
 * What is under way stands. In doubt it stands as well: nothing is done twice.
 *
 * An ERC-1155 transfer always stands, because the chain does not tell which of an account's equal tokens came back.
 *
 * @throws ServiceError `service_unavailable` while the node does not answer; see `goneBeforeFinal`.
 */
export async function stillStands(
  services: Services,
  caller: Caller,
  product: Product,
  intent: Intent,
): Promise<boolean> {
  if (!confirmedStates.includes(intent.state)) return true;
  const { tokens } = tokensOf(intent);
  const [token] = tokens;
  const tokenId = BigInt(token?.tokenId ?? 0);
  switch (intent.kind) {
    case "mint":
      if (await anyMinted(services, caller, product, intent)) return true;
      if (intent.state !== "finalized") throw goneBeforeFinal(tokenId);
      return false;
    case "burn":
      if (product.type === "erc1155") return !(await actedSince(services, intent, ["mint"]));
      return !(await isMinted(services, product, tokenId));
    case "transfer": {
      const from = toAddress(intent.owner);
      if (product.type === "erc1155" || token?.to?.toLowerCase() === from) return true;
      return (await readTokenOwner(services, product, tokenId)) !== from;
    }
    case "token_update":
      return !(await actedSince(services, intent, ["burn", "mint"]));
    default:
      return true;
  }
}

/** A mint whose token is gone may come back in a reorganisation until it is final; a second one then would be one too many. */
export function goneBeforeFinal(tokenId: bigint): ServiceError {
  return new ServiceError(
    "service_unavailable",
    `token ${tokenId} was minted by this request and is gone since; it can be minted again once the first mint is final`,
    { retryAfterSeconds: 15 },
  );
}

/** One node that has not seen the mint's block yet must not make it a second mint. */
async function anyMinted(services: Services, caller: Caller, product: Product, intent: Intent): Promise<boolean> {
  const { block } = await getRequest(services, caller, { id: intent.id });
  const head = await askNode(product.chain, () => services.rpc(product.chain).getBlockNumber());
  if (block === null || head < block) return true;
  for (const { tokenId } of tokensOf(intent).tokens)
    if (await isMinted(services, product, BigInt(tokenId), head)) return true;
  return false;
}

/** Whether later requests of these kinds were carried out on a token of this one. */
async function actedSince(services: Services, intent: Intent, kinds: readonly IntentKind[]): Promise<boolean> {
  const later = await services.db
    .selectFrom("service.intent as later")
    .select("later.id")
    .where("later.tenant_id", "=", intent.tenant_id)
    .where("later.created_at", ">=", intent.created_at)
    .where("later.kind", "in", kinds)
    .where("later.chain_id", "=", intent.chain_id)
    .where("later.predicted_addr", "=", intent.predicted_addr)
    .where("later.seq", ">", intent.seq)
    .where("later.state", "in", confirmedStates)
    .where(
      sql<boolean>`EXISTS (SELECT FROM jsonb_array_elements(later.payload -> 'tokens') t
        WHERE t ->> 'tokenId' = ANY(${tokensOf(intent).tokens.map(({ tokenId }) => tokenId)}::text[]))`,
    )
    .limit(1)
    .executeTakeFirst();
  return later !== undefined;
}
