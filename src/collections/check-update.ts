import type { Address, Hex } from "viem";
import type { Caller } from "../auth/caller.ts";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import type { ConfigChanges } from "../relay/store/config-changes.ts";
import type { Services } from "../services.ts";
import { type AllowlistTree, takeAllowlist } from "./allowlist-tree.ts";
import { checkTextTogether, maxAllowlist, startSeconds } from "./check-deployment.ts";
import { lowerCase } from "./collection-config.ts";
import { Problems } from "./problems.ts";
import type { UpdateCollectionInput } from "./update-input.ts";

/** An update whose members are in order, whatever the collection is like. */
export interface CheckedUpdate {
  changes: ConfigChanges;
  /** The new presale list; null when the update leaves the list alone. */
  allowlist: AllowlistTree | null;
}

/**
 * Checks what can be checked without asking the chain.
 *
 * @throws ServiceError the gravest fault, all of them in `details.problems`; `parameter_missing` when
 *   nothing is to change.
 */
export async function checkUpdate(
  services: Services,
  caller: Caller,
  chain: Chain,
  input: UpdateCollectionInput,
): Promise<CheckedUpdate> {
  const problems = new Problems();
  const { royaltiesBps, allowlist: listed } = input;
  if (royaltiesBps !== undefined && (royaltiesBps < 0n || royaltiesBps > 10_000n))
    problems.add("value_error", "royaltiesBps", "the royalty share must be 0 to 10000 basis points");
  checkTextTogether(problems, { baseUri: input.baseUri, prerevealTokenUri: input.prerevealTokenUri });
  if (listed && listed.length > maxAllowlist)
    problems.add("value_error", "allowlist", `the presale list may hold ${maxAllowlist} wallets`);
  const start = (field: "publicMintStart" | "presaleMintStart") =>
    input[field] && startSeconds(problems, field, input[field]);
  const starts = { publicMintStart: start("publicMintStart"), presaleMintStart: start("presaleMintStart") };
  if (chain.paidTierOnly && caller.tier === "free")
    problems.add("plan_limit_exceeded", "chain", `updating on ${chain.name} needs a Growth or Scale key`);
  problems.check();
  const allowlist = listed
    ? ((await problems.attemptLater(() => takeAllowlist(services, caller, listed))) ?? null)
    : null;
  problems.check();
  const changes: ConfigChanges = {
    baseUri: input.baseUri,
    prerevealTokenUri: input.prerevealTokenUri,
    metadataUpdatable: input.freezeMetadata ? false : undefined,
    ...starts,
    presaleMerkleRoot: allowlist?.root satisfies Hex | undefined,
    royaltiesBps,
    royaltiesAddress: input.royaltiesAddress === undefined ? undefined : (lowerCase(input.royaltiesAddress) as Address),
  };
  if (Object.values(changes).every((value) => value === undefined)) {
    throw new ServiceError(
      "parameter_missing",
      "nothing to change: send a URI, a mint start, the presale list, royalties, or the freeze",
    );
  }
  return { changes, allowlist };
}
