import type { Chain } from "../chains.ts";

/** The operations that GraphiQL opens with. They work on any installation, and a test runs each of them. */
export const samples = [
  `# How the service is. Needs no key.
query Status {
  status {
    database
    chains { chain chainId indexedBlock lagSeconds }
  }
}
`,
  `# What your key may do, and what it has used.
query Me {
  viewer {
    name
    plan { tier readsPerSecond maxSupply }
    usage { requestsThisPeriod periodEnd }
  }
}
`,
  `# The newest tokens of a chain.
query Newest($chain: ChainName!) {
  chain(name: $chain) {
    latestNfts(first: 5) {
      nodes { tokenId name contract { address name owners(first: 3) { nodes { address tokenCount } } } }
      pageInfo { hasNextPage endCursor }
    }
  }
}
`,
  `# Your deployments, newest first.
query Deployments {
  viewer {
    deployments(first: 5) {
      nodes { id state transactionHash collection { address name } }
    }
  }
}
`,
] as const;

/** The variables of a sample as JSON text: this installation's first chain, where the sample needs one. */
export function sampleVariables(query: string, chains: readonly Chain[]): string {
  return query.includes("$chain") ? JSON.stringify({ chain: chains[0]?.name ?? "polygon" }, null, 2) : "{}";
}
