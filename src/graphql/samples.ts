import type { Chain } from "../chains.ts";

/** What GraphiQL opens with: operations that work on any installation, each run by a test. */
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

/** As text for GraphiQL: the first chain of this installation where a sample wants one. */
export function sampleVariables(query: string, chains: readonly Chain[]): string {
  return query.includes("$chain") ? JSON.stringify({ chain: chains[0]?.name ?? "polygon" }, null, 2) : "{}";
}
