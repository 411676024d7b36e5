/** A wallet's status on the presale list. */
export interface Eligibility {
  eligible: boolean;
  reason: string | null;
  proof: `0x${string}`[] | null;
}

const query = `query ($chain: ChainName!, $collection: Address!, $wallet: Address!) {
  eligibility(chain: $chain, collection: $collection, wallet: $wallet) { eligible reason proof }
}`;

export interface EligibilityTarget {
  chain: string;
  collection: string;
  deployedHere: boolean;
}

/** Needs no key. @returns null if this server does not have the list. @throws Error when asking later may help. */
export async function readEligibility(
  { deployedHere, ...target }: EligibilityTarget,
  wallet: string,
): Promise<Eligibility | null> {
  if (!deployedHere) return null;
  const response = await fetch("/graphql", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ query, variables: { ...target, wallet } }),
  });
  if (!response.ok) throw new Error("the server refused to answer now");
  const { data } = (await response.json()) as { data?: { eligibility: Eligibility | null } };
  return data?.eligibility ?? null;
}

/** One sentence for the visitor. */
export function eligibilityText({ eligible, reason }: Eligibility): string {
  if (eligible) return "This wallet is on the presale list.";
  if (reason === "ALREADY_MINTED") return "This wallet has used its one presale mint.";
  if (reason === "NO_PRESALE" || reason === "NO_LIST") return "This collection has no presale list.";
  if (reason === "NOT_LISTED") return "This wallet is not on the presale list.";
  return "The presale list was changed elsewhere; ask the creator.";
}
