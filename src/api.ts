// The HTTP process: GraphQL, /v0, the IPFS gateway. Stateless; run as many as there are cores.
import { createAdaptorServer } from "@hono/node-server";
import { ensureDevAccount } from "./auth/keys.ts";
import { loadConfig } from "./config.ts";
import { prepareDatabase } from "./db/prepare.ts";
import { createApp } from "./http/app.ts";
import { limitServer } from "./http/limits.ts";
import { endWithParent, onStop } from "./process-life.ts";
import { createServices } from "./services.ts";

const config = loadConfig();
const services = createServices(config, "api");
await prepareDatabase(config.databaseUrl, services.log);
if (config.devApiKey) await ensureDevAccount(services.db, config.keyPepper, config.devApiKey);

const server = createAdaptorServer({ fetch: createApp(services).fetch });
limitServer(server);
await new Promise<void>((ready, failed) => server.once("error", failed).listen(config.port, config.host, ready));
services.log.info({ port: config.port }, "listening");
endWithParent();
onStop(async () => {
  const closed = new Promise((done) => server.close(done));
  if ("closeIdleConnections" in server) server.closeIdleConnections();
  const impatient = setTimeout(() => "closeAllConnections" in server && server.closeAllConnections(), 3_000);
  await closed;
  clearTimeout(impatient);
  await services.content.close();
  await services.pool.end();
}, services.log);
process.send?.({ type: "ready" });
