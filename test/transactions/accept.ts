import type { Caller } from "../../src/auth/caller.ts";
import { checkDeployment } from "../../src/collections/check-deployment.ts";
import { askDeployment } from "../../src/collections/deploy-collection.ts";
import type { DeployCollectionInput } from "../../src/collections/deployment-input.ts";
import { askUpdate, type UpdateRequest } from "../../src/collections/update-collection.ts";
import { accept } from "../../src/requests/carry-out.ts";
import type { Services } from "../../src/services.ts";
import type { Intent } from "../../src/transactions/store/intents.ts";

/** A deployment that is accepted, and that this process does not sign. */
export async function acceptDeployment(
  services: Services,
  caller: Caller,
  input: DeployCollectionInput,
): Promise<Intent> {
  const checked = await checkDeployment(services, caller, input);
  return await accept(services, caller, askDeployment(services, caller, checked, input.idempotencyKey));
}

/** The same of an update, whatever the chain would say to it. */
export async function acceptUpdate(
  services: Services,
  caller: Caller,
  update: Omit<UpdateRequest, "allowlist" | "idempotencyKey"> & { idempotencyKey?: string },
): Promise<Intent> {
  const { idempotencyKey, ...rest } = update;
  return await accept(services, caller, askUpdate(services, caller, { ...rest, idempotencyKey, allowlist: null }));
}
