import { mergeSchemas } from "@graphql-tools/schema";
import { type GraphQLSchema, isObjectType } from "graphql";
import { isRecording, withSpan } from "../telemetry/span.ts";
import { addAccounts } from "./accounts.ts";
import { createBuilder } from "./builder.ts";
import { addChains } from "./chains.ts";
import { addCollectionReads, addCollectionType } from "./collection-type.ts";
import { addContracts } from "./contracts.ts";
import { addDeployCollection } from "./deploy-collection.ts";
import { addDeployments } from "./deployments.ts";
import { addEvents } from "./events.ts";
import { addHolders } from "./holders.ts";
import { addKeys } from "./keys.ts";
import { addMints } from "./mint.ts";
import { addMintRequests } from "./mint-request.ts";
import { addNfts } from "./nfts.ts";
import { addEligibility, addSale } from "./sale.ts";
import { addScalars } from "./scalars.ts";
import { createStatusSchema } from "./status.ts";
import { addTransfers } from "./transfers.ts";
import { addUpdateCollection } from "./update-collection.ts";
import { addUploads } from "./uploads.ts";
import { addViewer } from "./viewer.ts";
import { addWebhooks } from "./webhooks.ts";

/** The whole schema: Pothos' types, merged with the SDL-first status types. */
export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  addScalars(builder);
  addUploads(builder);
  addDeployCollection(builder);
  addDeployments(builder);
  addCollectionType(builder);
  addCollectionReads(builder);
  addUpdateCollection(builder);
  addMintRequests(builder);
  addMints(builder);
  addEligibility(builder);
  addSale(builder);
  addChains(builder);
  addNfts(builder);
  addAccounts(builder);
  addViewer(builder);
  addKeys(builder);
  addTransfers(builder);
  addContracts(builder);
  addEvents(builder);
  addWebhooks(builder);
  addHolders(builder);
  const schema = mergeSchemas({ schemas: [builder.toSchema(), createStatusSchema()] });
  traceRootFields(schema);
  return schema;
}

/** Every root field is a use case, and so is every field of `Viewer`. */
function traceRootFields(schema: GraphQLSchema): void {
  for (const type of ["Query", "Mutation", "Viewer"].map((name) => schema.getType(name)))
    for (const field of Object.values(isObjectType(type) ? type.getFields() : {})) {
      const { resolve, name } = field;
      if (resolve)
        field.resolve = (...args) =>
          isRecording() ? withSpan(`use case ${name}`, {}, async () => await resolve(...args)) : resolve(...args);
    }
}
