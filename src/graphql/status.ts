import { makeExecutableSchema } from "@graphql-tools/schema";
import type { GraphQLSchema } from "graphql";
import { readStatus } from "../accounts/read-status.ts";
import type { GraphQLContext } from "./builder.ts";

/**
 * The types that monitors read, written SDL-first: dashboards depend on this text, and it needs neither a key nor any
 * other type of the schema.
 */
const statusTypeDefs = /* GraphQL */ `
  type Query {
    "How the service is: its database, and per chain how far the index has come. Needs no key."
    status: ServiceStatus!
  }

  "How the service is."
  type ServiceStatus {
    "The state of the database: ok, unreachable or refused."
    database: String!
    "The chains of this installation, and how far the index has come on each."
    chains: [ChainStatus!]!
  }

  "How far the index has come on a chain."
  type ChainStatus {
    "The name of the chain, such as polygon."
    chain: String!
    "The chain's id by EIP-155, such as 137 for Polygon."
    chainId: Int!
    "The last block that the index has taken in, decimal; null before the first."
    indexedBlock: String
    "The time of that block, RFC 3339; null before the first."
    indexedAt: String
    "Seconds since that block's time; 0 while the index has the newest block of its nodes, null before the first block."
    lagSeconds: Int
  }
`;

export function createStatusSchema(): GraphQLSchema {
  return makeExecutableSchema<GraphQLContext>({
    typeDefs: statusTypeDefs,
    resolvers: { Query: { status: (_root, _args, { services }) => readStatus(services) } },
  });
}
