import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, zeroHash } from "viem";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { type Chain, findChain } from "../chains.ts";
import { isReverted } from "../rpc/answers.ts";
import { NodeFault, type RpcResult } from "../rpc/endpoint.ts";
import { askNode } from "../rpc/nodes.ts";
import type { Services } from "../services.ts";
import { listAllowlists, readProof } from "./allowlists.ts";

interface EligibilityInput {
  chain: string;
  /** The collection's address, lower case. */
  collection: Address;
  wallet: Address;
  /** Root of the list to search; absent: that of the contract's current list. */
  root?: Hex | undefined;
}

export type Ineligibility =
  /** The contract has no presale start: there is no presale. */
  | "NO_PRESALE"
  /** The collection has no presale list. */
  | "NO_LIST"
  | "NOT_LISTED"
  /** The wallet has used its one presale mint. */
  | "ALREADY_MINTED"
  /** The contract's list is no longer the requested one. */
  | "LIST_REPLACED"
  /** The root on chain belongs to no list stored here: an admin changed it elsewhere. */
  | "LIST_CHANGED_ON_CHAIN";

export interface Eligibility {
  eligible: boolean;
  reason: Ineligibility | null;
  /** The argument of `presaleMint`; null for a wallet that is not listed. */
  proof: Hex[] | null;
  /** The root that the proof leads to. */
  root: Hex;
  /** The presale is open after this time; null: there is none. */
  presaleStart: Date | null;
}

/**
 * Whether a wallet may mint in a collection's presale, with its proof under the contract's current root. Needs no key,
 * since minting pages call it from browsers; answers for one wallet at a time: only the owner's account can read the
 * list itself. The contract's answer may be two seconds old (`ReaderCalls`).
 *
 * @param owner of the calls; see `ReaderCalls`.
 * @throws ServiceError `not_found` for a collection that this service did not deploy; `service_unavailable`.
 */
export async function getEligibility(services: Services, input: EligibilityInput, owner: string): Promise<Eligibility> {
  const chain = findChain(services.chains, input.chain);
  const versions = await listAllowlists(services, chain, input.collection);
  const presale = await readPresale(services, chain, input.collection, owner);
  const root = input.root ?? presale.root;
  const answer = (reason: Ineligibility | null, proof: Hex[] | null = null): Eligibility => ({
    eligible: reason === null,
    reason,
    proof,
    root,
    presaleStart: presale.start === 0n ? null : new Date(Number(presale.start) * 1000),
  });
  if (root === zeroHash) return answer("NO_LIST");
  const allowlistId = versions.find((version) => version.root === root)?.allowlistId;
  if (!allowlistId) return answer(input.root ? "NO_LIST" : "LIST_CHANGED_ON_CHAIN");
  const proof = await readProof(services, allowlistId, input.wallet);
  if (!proof) return answer("NOT_LISTED");
  if (root !== presale.root) return answer("LIST_REPLACED", proof);
  if (presale.start === 0n) return answer("NO_PRESALE", proof);
  return answer((await hasMinted(services, chain, input, proof, owner)) ? "ALREADY_MINTED" : null, proof);
}

async function readPresale(services: Services, chain: Chain, address: Address, owner: string) {
  const read = async (functionName: "presaleMerkleRoot" | "presaleMintStart") => {
    const data = encodeFunctionData({ abi: collectionAbi, functionName });
    return returned(await services.readerCalls.call(chain, address, data, { owner }));
  };
  return await askNode(chain, async () => {
    const [root, start] = await Promise.all([read("presaleMerkleRoot"), read("presaleMintStart")]);
    return {
      root: decodeFunctionResult({ abi: collectionAbi, functionName: "presaleMerkleRoot", data: root }),
      start: decodeFunctionResult({ abi: collectionAbi, functionName: "presaleMintStart", data: start }),
    };
  });
}

async function hasMinted(
  services: Services,
  chain: Chain,
  { collection, wallet }: EligibilityInput,
  proof: Hex[],
  owner: string,
): Promise<boolean> {
  const data = encodeFunctionData({ abi: collectionAbi, functionName: "isWhitelisted", args: [wallet, proof] });
  return await askNode(chain, async () => {
    const result = await services.readerCalls.call(chain, collection, data, { owner });
    // The function reverts for one reason only: the wallet has used its presale mint.
    if ("error" in result && isReverted(result.error)) return true;
    returned(result);
    return false;
  });
}

/** @throws NodeFault for an answer without a result. */
function returned(result: RpcResult): Hex {
  if ("result" in result && typeof result.result === "string" && /^0x[0-9a-f]*$/i.test(result.result))
    return result.result as Hex;
  throw new NodeFault("a call of a contract has no result");
}
