import { type Address, BaseError, ContractFunctionRevertedError, type Hex } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import type { Caller } from "../auth/caller.ts";
import { type Chain, findChain } from "../chains.ts";
import { ServiceError } from "../errors.ts";
import { toBytes } from "../relay/bytes.ts";
import { askNode } from "../relay/node-failure.ts";
import type { Services } from "../services.ts";
import { type AllowlistTree, buildAllowlistTree } from "./allowlist-tree.ts";
import { standing } from "./get-deployment.ts";

export interface EligibilityInput {
  chain: string;
  /** The collection's address, lower case. */
  collection: Address;
  wallet: Address;
}

export type Ineligibility =
  /** The collection has no presale list here. */
  | "NO_LIST"
  | "NOT_LISTED"
  /** The wallet has made its one presale mint. */
  | "ALREADY_MINTED"
  /** The root on chain is not the one of the list we hold: an admin changed it elsewhere. */
  | "LIST_CHANGED_ON_CHAIN";

export interface Eligibility {
  eligible: boolean;
  reason: Ineligibility | null;
  /** What `presaleMint` takes; null for a wallet that is not listed. */
  proof: Hex[] | null;
}

/** Trees by list. A stored list never changes, so an entry is right for ever; the count bounds the memory. */
const trees = new Map<string, AllowlistTree>();
const maxTrees = 16;

/**
 * Whether a wallet may mint in a collection's presale, with its proof. Answers for one wallet at a
 * time: the list itself is shown to nobody but its owner's account.
 *
 * @throws ServiceError `not_found` for a collection that this service did not deploy; `service_unavailable`.
 */
export async function getEligibility(
  services: Services,
  _caller: Caller,
  input: EligibilityInput,
): Promise<Eligibility> {
  const chain = findChain(services.chains, input.chain);
  const row = await services.db
    .selectFrom("service.standing_collection")
    .select("allowlist_id")
    .where("chain_id", "=", chain.id)
    .where("predicted_addr", "=", toBytes(input.collection))
    .where("state", "in", standing)
    .executeTakeFirst();
  if (!row) throw new ServiceError("not_found", "no collection at this address was deployed here");
  if (row.allowlist_id === null) return { eligible: false, reason: "NO_LIST", proof: null };
  const proof = (await readTree(services, row.allowlist_id)).proofOf(input.wallet);
  if (!proof) return { eligible: false, reason: "NOT_LISTED", proof: null };
  const reason = await askCollection(services, chain, input, proof);
  return { eligible: reason === null, reason, proof };
}

async function readTree(services: Services, id: string): Promise<AllowlistTree> {
  const known = trees.get(id);
  if (known) return known;
  const { entries } = await services.db
    .selectFrom("service.allowlist")
    .select("entries")
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  const tree = buildAllowlistTree(entries);
  const oldest = trees.size >= maxTrees ? trees.keys().next().value : undefined;
  if (oldest !== undefined) trees.delete(oldest);
  trees.set(id, tree);
  return tree;
}

async function askCollection(
  services: Services,
  chain: Chain,
  { collection, wallet }: EligibilityInput,
  proof: Hex[],
): Promise<Ineligibility | null> {
  const client = services.rpc(chain);
  return await askNode(chain, async () => {
    try {
      const args = [wallet, proof] as const;
      const call = { address: collection, abi: collectionAbi, functionName: "isWhitelisted", args } as const;
      return (await client.readContract(call)) ? null : "LIST_CHANGED_ON_CHAIN";
    } catch (error) {
      // The function reverts for one reason only: the wallet used its presale mint.
      if (error instanceof BaseError && error.walk((cause) => cause instanceof ContractFunctionRevertedError))
        return "ALREADY_MINTED";
      throw error;
    }
  });
}
