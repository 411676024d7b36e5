import { sql } from "kysely";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import { Problems } from "../collections/problems.ts";
import { toBytes } from "../db/bytes.ts";
import { ServiceError } from "../errors/errors.ts";
import type { InputOf } from "../requests/fields.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { applyContractChanges, encodeUpdateProduct, readAgreedRecord } from "../transactions/chain/product-record.ts";
import { undecidedStates } from "../transactions/lifecycle.ts";
import { type ContractChanges, changesOf } from "../transactions/store/payloads.ts";
import { type Operation, operationOn } from "./carry-out.ts";
import { checkUri } from "./check-tokens.ts";
import { checkRoles, checkRoyalties, type contractChangeFields, roleLists } from "./create-contract.ts";
import { findProduct, type Product } from "./find-product.ts";

type UpdateContractInput = InputOf<typeof contractChangeFields>;

/**
 * Changes a product contract's settings. The contract replaces its whole record, so the call is built from the chain's
 * record right before it is signed, once every earlier update of the contract is mined.
 *
 * @throws ServiceError as `findProduct`; `parameter_missing` when nothing is to change; `metadata_frozen`.
 */
export async function updateContract(
  services: Services,
  caller: Caller,
  input: UpdateContractInput,
): Promise<Operation> {
  const product = await findProduct(services, caller, input);
  const { chain, address } = product;
  const changes = checkChanges(input);
  requireSignedRoles(chain, changes.roles ? "roles" : changes.exit ? "exit" : null);
  return operationOn(services, caller, product, {
    ...{ kind: "contract_update", idempotencyKey: input.idempotencyKey },
    canonical: JSON.stringify(changes),
    draft: async () => {
      await checkEarlier(services, product, changes);
      // Checked and simulated with the chain's current record; the signed call is built from its record at signing.
      const now = await askNode(chain, () =>
        readAgreedRecord(services.relay.nodes(chain), chain.relay.quorum, address),
      );
      const baseURI = changes.baseUri ?? now.baseURI;
      if (baseURI !== now.baseURI && !now.metadataUpdatable)
        throw new ServiceError("metadata_frozen", "the metadata of this contract is frozen", { field: "baseUri" });
      const { roles = [], exit = false } = changes;
      return { payload: { changes }, data: encodeUpdateProduct(applyContractChanges(now, changes), roles, exit) };
    },
  });
}

/**
 * @param field the member of the request that affects rights; null: none does.
 * @throws ServiceError `value_error` where the signer does not sign it.
 */
function requireSignedRoles({ name, relay }: Chain, field: "roles" | "exit" | null): void {
  if (field === null || relay.signsRoles) return;
  const setting = `SIGN_ROLES_${name.toUpperCase()}`;
  const instead =
    field === "roles"
      ? "let the contract's owner give roles by its own wallet (grantRole)"
      : "let the contract's owner or an admin call revokeNFTPortPermissions by its own wallet";
  throw new ServiceError(
    "value_error",
    `this installation signs neither lists of roles nor the end of its own rights on ${name}: ${instead}, or ask the operator for ${setting}=on`,
    { field, details: { setting, want: "on" } },
  );
}

/** Refuses changes that updates under way rule out for good: the contract would refuse them once those are mined. */
async function checkEarlier({ db }: Services, { chain, address }: Product, changes: ContractChanges): Promise<void> {
  const rows = await db
    .selectFrom("service.intent")
    .select("payload")
    .where("chain_id", "=", chain.id)
    .where("predicted_addr", "=", toBytes(address))
    .where("kind", "=", sql.lit("contract_update"))
    .where("state", "in", undecidedStates)
    .execute();
  const earlier = rows.map(changesOf);
  if (earlier.some(({ exit }) => exit))
    throw new ServiceError("value_error", "an earlier update gives up the service's rights on this contract", {
      field: "contract",
    });
  if (changes.baseUri !== undefined && earlier.some(({ freezeMetadata }) => freezeMetadata))
    throw new ServiceError("metadata_frozen", "the metadata of this contract is being frozen by an earlier update", {
      field: "baseUri",
    });
  const frozen = earlier.flatMap(({ roles = [] }) => roles.filter(({ freeze }) => freeze).map(({ role }) => role));
  const role = changes.roles?.find((list) => frozen.includes(list.role))?.role;
  if (role)
    throw new ServiceError("value_error", `the list of role ${role} is being frozen by an earlier update`, {
      field: "roles",
    });
}

function checkChanges(input: UpdateContractInput): ContractChanges {
  const problems = new Problems();
  if (input.baseUri !== undefined) checkUri(problems, "baseUri", input.baseUri);
  checkRoyalties(problems, input);
  const roles = roleLists(input.roles);
  checkRoles(problems, roles);
  problems.check();
  const changes: ContractChanges = {
    ...(input.freezeMetadata ? { freezeMetadata: true } : {}),
    ...(input.baseUri === undefined ? {} : { baseUri: input.baseUri }),
    ...(input.royaltiesBps === undefined ? {} : { royaltiesBps: String(input.royaltiesBps) }),
    ...(input.royaltiesAddress === undefined ? {} : { royaltiesAddress: input.royaltiesAddress }),
    ...(roles.length > 0 ? { roles } : {}),
    ...(input.exit ? { exit: true } : {}),
  };
  if (Object.keys(changes).length === 0)
    throw new ServiceError(
      "parameter_missing",
      "nothing to change: send a base URI, royalties, roles, the freeze, or that the service gives up its rights",
    );
  return changes;
}
