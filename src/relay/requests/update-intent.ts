import { createHash, randomUUID } from "node:crypto";
import { sql } from "kysely";
import { type Address, type Hex, zeroHash } from "viem";
import type { Plan } from "../../auth/plan.ts";
import { defaultPlans } from "../../auth/plans.ts";
import type { Chain } from "../../chains.ts";
import { toAddress, toBytes } from "../../db/bytes.ts";
import type { Tier } from "../../db/tables/accounts.ts";
import { ServiceError } from "../../errors/errors.ts";
import type { RelayContext } from "../chain/context.ts";
import { refreshFees } from "../chain/current-fees.ts";
import { type ConfigChanges, storeChanges } from "../store/config-changes.ts";
import type { Intent } from "../store/intents.ts";
import { planGasReservation } from "../submit/budget.ts";
import { countGas } from "../submit/gas-ceiling.ts";
import { acceptIntent, findKey } from "./accept-intent.ts";

export interface UpdateRequest {
  tenantId: string;
  /** Whose limits it counts in; absent: the strictest ones'. */
  tier?: Tier;
  /** Absent: the default one of the tier. */
  plan?: Plan | undefined;
  chain: Chain;
  /** A collection that this tenant's deployment made here; any letter case. */
  contract: Address;
  changes: ConfigChanges;
  /** `changes.royaltiesAddress` in the letter case of the request. */
  royaltiesAddressAsSent?: string | undefined;
  /** The client's own key, valid for ever; null: an equal update is the same one while no other came between. */
  idempotencyKey: string | null;
  /** What an equal update without a key did was changed since by others: this one is another one. */
  undone?: boolean;
  /** A new presale list; `changes.presaleMerkleRoot` has to be its root. */
  allowlist: { root: Hex; entries: readonly string[] } | null;
}

/**
 * Makes an update durable. The configuration is read, changed and signed later, as one record at one
 * block, and only after every earlier update of the contract has ended: `untilSigned` waits for that.
 *
 * What the contract itself would refuse (frozen metadata, revoked rights) only shows there: check before.
 *
 * @throws ServiceError `not_found` for a contract that no confirmed deployment of this tenant made;
 *   `value_error` when the key was used for another request.
 */
export async function acceptUpdate(services: RelayContext, request: UpdateRequest): Promise<Intent> {
  const { chain, tenantId } = request;
  const contract = request.contract.toLowerCase() as Address;
  const deployed = await services.db
    .selectFrom("service.intent")
    .select(["factory", "template", "owner"])
    .where("chain_id", "=", chain.id)
    .where("predicted_addr", "=", toBytes(contract))
    .where("tenant_id", "=", tenantId)
    .where("kind", "=", sql.lit("deploy"))
    .where("state", "in", ["confirmed", "finalized"])
    .executeTakeFirst();
  if (!deployed) throw new ServiceError("not_found", "no collection of this account stands at this address");
  const changes = storeChanges(request.changes);
  const royalties = request.royaltiesAddressAsSent;
  const canonical = `update ${chain.id} ${contract} ${JSON.stringify(changes)}`;
  const requestHash = createHash("sha256").update(canonical).digest();
  const tier = request.tier ?? "free";
  const [{ repeats, key }] = await Promise.all([
    findKey(services.db, tenantId, request.idempotencyKey, requestHash),
    refreshFees(services, chain),
  ]);
  if (repeats && !request.undone) return repeats;
  return await acceptIntent(services.db, {
    id: randomUUID(),
    tenantId,
    key,
    requestHash,
    chainId: chain.id,
    kind: "update",
    // The chain knows no letter case; answers give addresses back as they were sent.
    payload: { contract, changes, ...(royalties ? { spelling: { royaltiesAddress: royalties } } : {}) },
    allowlist: request.allowlist,
    factory: toAddress(deployed.factory),
    template: toAddress(deployed.template),
    owner: toAddress(deployed.owner),
    // An update has no address of its own to end at: order is kept by one at a time instead.
    initData: "0x",
    salt: zeroHash,
    predicted: contract,
    gas: countGas(request.plan ?? defaultPlans[tier], { kind: "update", bytes: canonical.length, estimate: null }),
    reservation: planGasReservation(services, chain, {
      tenantId,
      tier,
      kind: "update",
      bytes: canonical.length,
    }),
  });
}
