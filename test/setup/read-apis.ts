import { createYoga } from "graphql-yoga";
import { Kysely, PostgresDialect } from "kysely";
import type { Caller } from "../../src/auth/caller.ts";
import { loadConfig } from "../../src/config/config.ts";
import type { Database } from "../../src/db/database.ts";
import type { StatementRunner } from "../../src/db/pool/read-connections.ts";
import { ReadPool } from "../../src/db/pool/read-pool.ts";
import type { Tier } from "../../src/db/tables/accounts.ts";
import { ServiceError } from "../../src/errors/errors.ts";
import { rawTexts } from "../../src/graphql/answer-text.ts";
import { createSchema } from "../../src/graphql/schema.ts";
import { MetadataDemand } from "../../src/metadata/discover/metadata-demand.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { addAccounts } from "../../src/rest/accounts.ts";
import { nok } from "../../src/rest/answer.ts";
import { createV0App } from "../../src/rest/app.ts";
import { addNfts, addSearch } from "../../src/rest/nfts.ts";
import { addTransactions } from "../../src/rest/transactions.ts";
import type { Services } from "../../src/services.ts";
import type { TestDatabase } from "./database.ts";
import { faultsOfAnswer } from "./openapi-check.ts";

/** An answer, read by the shape that the test expects. */
type Json = ReturnType<typeof JSON.parse>;

export type ReadApis = ReturnType<typeof openReadApis>;

/** Both apis' token reads over one set of services, for a caller of the given plan. */
export function openReadApis(database: TestDatabase, options: { tier?: Tier; env?: Record<string, string> } = {}) {
  const statements: string[] = [];
  const pipelined: string[] = [];
  // The reads whose JSON PostgreSQL makes go past Kysely.
  const pool = new Proxy(database.pool, {
    get(target, name) {
      if (name !== "query") return Reflect.get(target, name, target);
      return (statement: { text: string }) => {
        statements.push(statement.text);
        return target.query(statement as never);
      };
    },
  });
  const config = loadConfig({
    DATABASE_URL: database.url,
    RPC_URL_GOERLI: "http://127.0.0.1:9",
    CHAIN_ID_GOERLI: "31337",
    RPC_URL_POLYGON: "http://127.0.0.1:9",
    CHAIN_ID_POLYGON: "31338",
    LOCAL_GOERLI: "true",
    LOCAL_POLYGON: "true",
    LOG_LEVEL: "silent",
    PUBLIC_URL: "https://mintyard.test",
    ...options.env,
  });
  const made = createServices(config, "test");
  const db = new Kysely<Database>({
    dialect: new PostgresDialect({ pool: database.pool }),
    log: (event) => {
      statements.push(event.query.sql);
    },
  });
  const idle = { running: 0, waiting: 0, byPlan: new Map() };
  const runner: StatementRunner = { ...idle, query: (query) => pool.query(query), end: async () => {} };
  const index = new ReadPool({ pool, pipelined: made.reads, reads: runner, heavy: runner });
  const heavyFirst = index.heavyFirst.bind(index);
  index.heavyFirst = (text, values) => {
    pipelined.push(text);
    return heavyFirst(text, values);
  };
  const services: Services = {
    ...made,
    reads: {
      ...made.reads,
      first(text, ...rest) {
        statements.push(text);
        pipelined.push(text);
        return made.reads.first(text, ...rest);
      },
    },
    ...{ pool, db, index: { pool: index, db } },
    // Not among the statements: they come later, of themselves.
    demand: new MetadataDemand(database.pool, made.log),
  };
  const caller: Caller = { accountId: "a", tier: options.tier ?? "enterprise", requestId: "req_test" };

  const app = createV0App();
  app.use(async (c, next) => {
    c.set("caller", caller);
    await next();
  });
  addAccounts(app, services);
  addNfts(app, services);
  addTransactions(app, services);
  addSearch(app, services);
  app.onError((error, c) => {
    if (error instanceof ServiceError) return nok(c, error, caller.requestId);
    throw error;
  });

  // Through yoga as in production: vitest loads a second copy of `graphql` for files of ours.
  const yoga = createYoga({
    schema: createSchema(),
    context: () => ({ services, requestId: caller.requestId, caller: async () => caller }),
    logging: false,
    plugins: [rawTexts],
    maskedErrors: {
      maskError: (error) => {
        const failure = error as Error & { originalError?: Error; extensions: Record<string, unknown> };
        if (failure.originalError instanceof ServiceError) failure.extensions["code"] = failure.originalError.code;
        return failure;
      },
    },
  });

  return {
    services,
    caller,
    /** SQL of everything asked since the last call. */
    takeStatements: () => statements.splice(0),
    /** Those of them whose one row is put together as text: GraphQL reads lists in this way only where a plan answers. */
    takePipelined: () => pipelined.splice(0),
    /** A GET of the legacy API: status and body, and the body's text. It is checked against the OpenAPI document. */
    async v0(path: string): Promise<{ status: number; body: Json; text: string }> {
      const response = await app.request(path);
      const text = await response.text();
      const body = JSON.parse(text);
      const faults = faultsOfAnswer("GET", `/v0${path}`, response.status, body);
      if (faults.length > 0) throw new Error(`GET ${path}: ${faults.join("; ")}`);
      return { status: response.status, body, text };
    },
    /** A GraphQL operation; `code` is that of the first error. */
    async graphql(source: string, variableValues: Record<string, unknown> = {}) {
      const response = await yoga.fetch("http://mintyard.test/graphql", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ query: source, variables: variableValues }),
      });
      const { data, errors }: { data: Json; errors?: Json[] } = await response.json();
      const [error] = errors ?? [];
      if (error && !error.extensions?.code) throw new Error(JSON.stringify(errors));
      return { data, code: error?.extensions.code as string | undefined };
    },
  };
}
