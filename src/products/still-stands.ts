import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import { toAddress } from "../db/bytes.ts";
import type { IntentKind } from "../db/tables/relay.ts";
import { ServiceError } from "../errors/errors.ts";
import { getRequest } from "../requests/requests.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { findOtherSetting, readAgreedRecord } from "../transactions/chain/product-record.ts";
import { confirmedStates } from "../transactions/lifecycle.ts";
import type { Intent } from "../transactions/store/intents.ts";
import { changesOf, tokensOf } from "../transactions/store/payloads.ts";
import { type Product, productRequests } from "./find-product.ts";
import { isMinted, readTokenOwner, readTokenUri } from "./read-token.ts";

/**
 * Whether a request's effect is still in place: then an equal request without a key repeats it; if not, it is another.
 * An effect under way counts as in place, and so does one in doubt, so that nothing is done twice.
 *
 * An ERC-1155 transfer always counts as in place: the chain does not show which of an account's equal tokens came back.
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
  const [token] = tokensOf(intent).tokens ?? [];
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
      if (await actedSince(services, intent, ["burn", "mint"])) return false;
      return token?.uri === undefined || (await hasUri(services, caller, product, intent, token.uri));
    case "contract_update":
      return await hasSettings(services, caller, product, intent);
    default:
      return true;
  }
}

/** Until it is final, a mint whose token is gone may come back in a reorganisation: a second would be one too many. */
export function goneBeforeFinal(tokenId: bigint): ServiceError {
  return new ServiceError(
    "service_unavailable",
    `token ${tokenId} was minted by this request and is gone since; it can be minted again once the first mint is final`,
    { retryAfterSeconds: 15 },
  );
}

/** The newest block; null while the node has not seen the request's block, so its state is older than that. */
async function readHead(services: Services, caller: Caller, { chain }: Product, { id }: Intent) {
  const { block } = await getRequest(services, caller, productRequests, { id });
  const head = await askNode(chain, () => services.rpc(chain).getBlock());
  return block === null || head.number < block ? null : head;
}

/** The owner may have given the token another URI by its own wallet. */
async function hasUri(services: Services, caller: Caller, product: Product, intent: Intent, uri: string) {
  const head = await readHead(services, caller, product, intent);
  const tokenId = BigInt(tokensOf(intent).tokens[0]?.tokenId ?? 0);
  return head === null || (await readTokenUri(services, product, tokenId, head.number))?.endsWith(uri) === true;
}

/** The owner may have changed the settings by its own wallet. Role lists are not read: they count as in place. */
async function hasSettings(services: Services, caller: Caller, product: Product, intent: Intent): Promise<boolean> {
  const { chain, address } = product;
  const head = await readHead(services, caller, product, intent);
  if (head === null) return true;
  const nodes = services.relay.nodes(chain);
  const now = await askNode(chain, () => readAgreedRecord(nodes, chain.relay.quorum, address, head.hash));
  return findOtherSetting(now, changesOf(intent)) === null;
}

async function anyMinted(services: Services, caller: Caller, product: Product, intent: Intent): Promise<boolean> {
  const head = await readHead(services, caller, product, intent);
  // Counts as in place, to rule out a second mint.
  if (head === null) return true;
  for (const { tokenId } of tokensOf(intent).tokens)
    if (await isMinted(services, product, BigInt(tokenId), head.number)) return true;
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
