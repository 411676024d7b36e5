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
    "The state of the database, and the progress of each chain's index. Requires no key."
    status: ServiceStatus!
  }

  "The state of the service."
  type ServiceStatus {
    "The state of the database: ok, unreachable or refused."
    database: String!
    "The chains of this installation, with the progress of their indexes."
    chains: [ChainStatus!]!
  }

  "The progress of a chain's index."
  type ChainStatus {
    "The name of the chain, such as polygon."
    chain: String!
    "The chain id (EIP-155), such as 137 for Polygon."
    chainId: Int!
    "The last indexed block, decimal. Null before the first one."
    indexedBlock: String
    "The timestamp of that block, RFC 3339. Null before the first one."
    indexedAt: String
    "Seconds since the timestamp of that block; 0 while the index has the newest block of its nodes. Null before the first block."
    lagSeconds: Int
  }
`;

export function createStatusSchema(): GraphQLSchema {
  return makeExecutableSchema<GraphQLContext>({
    typeDefs: statusTypeDefs,
    resolvers: { Query: { status: (_root, _args, { services }) => readStatus(services) } },
  });
}
