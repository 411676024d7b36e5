import { mergeSchemas } from "@graphql-tools/schema";
import type { GraphQLSchema } from "graphql";
import { addAccounts } from "./accounts.ts";
import { createBuilder } from "./builder.ts";
import { addCollections } from "./collections.ts";
import { addContracts } from "./contracts.ts";
import { addNfts } from "./nfts.ts";
import { createStatusSchema } from "./status.ts";
import { addTransfers } from "./transfers.ts";
import { addUploads } from "./uploads.ts";

/** The whole API: Pothos' types, joined with the SDL-first status slice. */
export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  addUploads(builder);
  addCollections(builder);
  addNfts(builder);
  addAccounts(builder);
  addTransfers(builder);
  addContracts(builder);
  return mergeSchemas({ schemas: [builder.toSchema(), createStatusSchema()] });
}
