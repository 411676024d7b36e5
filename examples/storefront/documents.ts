import { graphql } from "@mintyard/client/graphql";
import type { ResultOf } from "gql.tada";

const tokenFields = graphql(`
  fragment Token on Nft { tokenId name owner metadata cachedFileUrl fileUrl }
`);
export type Token = ResultOf<typeof tokenFields>;

const transferFields = graphql(`
  fragment Movement on Transfer { kind tokenId from to timestamp transactionHash }
`);
export type Movement = ResultOf<typeof transferFields>;

export const collectionQuery = graphql(
  `
  query Collection($chain: ChainName!, $address: Address!, $after: String) {
    contract(chain: $chain, address: $address) {
      name
      nfts(first: 24, after: $after) { nodes { ...Token } pageInfo { hasNextPage endCursor } }
      transfers(first: 12) { nodes { ...Movement } }
    }
  }
`,
  [tokenFields, transferFields],
);
