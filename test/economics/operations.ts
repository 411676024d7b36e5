import { loadConfig } from "../../src/config/config.ts";
import { createSchema } from "../../src/graphql/schema.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { createApp } from "../../src/server/app.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

/** How operations are written here: `GET /v0/nfts`, `query nft`, `mutation mint`, `subscription events`. */
export type OperationName = string;

/**
 * Every operation that the product serves, as its own router and schema have it: what answers a request, not what is put
 * before all of them. Nothing is asked of a database.
 */
export function listOperations(): OperationName[] {
  const config = loadConfig({
    ...{ DATABASE_URL: "postgres://127.0.0.1:9/none", MINTYARD_DATA_DIR: temporaryFolder(), LOG_LEVEL: "silent" },
    ...{ RPC_URL_GOERLI: "http://127.0.0.1:9", CHAIN_ID_GOERLI: "31337", LOCAL_GOERLI: "true" },
  });
  const services = createServices(config, "test");
  const { routes } = createApp(services);
  void services.pool.end();
  const schema = createSchema();
  const kinds = [
    ["query", schema.getQueryType()],
    ["mutation", schema.getMutationType()],
    ["subscription", schema.getSubscriptionType()],
  ] as const;
  return [
    ...new Set(routes.filter(answers).map(({ method, path }) => `${method} ${path}`)),
    ...kinds.flatMap(([kind, type]) => Object.keys(type?.getFields() ?? {}).map((field) => `${kind} ${field}`)),
  ];
}

/** Middleware and the fallbacks of a mount are registered for all methods below a path; `/graphql` has fields of its own. */
function answers({ method, path }: { method: string; path: string }): boolean {
  return method !== "ALL" || !path.endsWith("*");
}
