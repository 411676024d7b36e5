import { makeExecutableSchema } from "@graphql-tools/schema";
import type { GraphQLSchema } from "graphql";
import { readStatus } from "../accounts/read-status.ts";
import type { GraphQLContext } from "./builder.ts";

/**
 * The slice that monitors read, written SDL-first: its text is the contract with dashboards, and it
 * needs neither a key nor any type of the rest of the schema.
 */
const statusTypeDefs = /* GraphQL */ `
  type Query {
    "How the service is: its database, and per chain how far the index has come. Needs no key."
    status: ServiceStatus!
  }

  type ServiceStatus {
    "ok or unreachable."
    database: String!
    chains: [ChainStatus!]!
  }

  type ChainStatus {
    chain: String!
    chainId: Int!
    "Last block the index has taken in, decimal; null before the first."
    indexedBlock: String
    "That block's own time, RFC 3339."
    indexedAt: String
    "Seconds since that block's time; 0 while the index has the newest block of its nodes."
    lagSeconds: Int
  }
`;

export function createStatusSchema(): GraphQLSchema {
  return makeExecutableSchema<GraphQLContext>({
    typeDefs: statusTypeDefs,
    resolvers: { Query: { status: (_root, _args, { services }) => readStatus(services) } },
  });
}
