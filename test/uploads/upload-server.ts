import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createAdaptorServer } from "@hono/node-server";
import { Hono } from "hono";
import { createAccount } from "../../src/auth/keys.ts";
import { loadConfig } from "../../src/config/config.ts";
import { ServiceError } from "../../src/errors/errors.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { nok } from "../../src/rest/answer.ts";
import { createV0App } from "../../src/rest/app.ts";
import { addFiles, addStorage } from "../../src/rest/files.ts";
import { addMetadata } from "../../src/rest/metadata.ts";
import { createGateway } from "../../src/server/gateway.ts";
import type { Services } from "../../src/services.ts";
import { createTestDatabase } from "../setup/database.ts";
import { keepIdleConnections } from "../setup/idle-connections.ts";

export interface UploadServer {
  services: Services;
  accountId: string;
  port: number;
  url: string;
  /** Names of all files in the data folder. */
  files(): Promise<string[]>;
  /** Rows in the tables of uploads. */
  rows(): Promise<number>;
  close(): Promise<void>;
}

/** The upload routes and the gateway over real HTTP, with a real database and data folder. */
export async function startUploadServer(env: Record<string, string> = {}): Promise<UploadServer> {
  const database = await createTestDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), "mintyard-uploads-"));
  const config = loadConfig({ DATABASE_URL: database.url, MINTYARD_DATA_DIR: dataDir, LOG_LEVEL: "silent", ...env });
  const services = createServices(config, "test");
  const key = randomUUID();
  const accountId = await createAccount(services.db, config.keyPepper, { name: "test", tier: "free", key });
  const server = createAdaptorServer({ fetch: createUploadApp(services, accountId).fetch });
  keepIdleConnections(server);
  await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
  const { port } = server.address() as AddressInfo;
  return {
    services,
    accountId,
    port,
    url: `http://127.0.0.1:${port}`,
    files: async () => {
      const entries = await readdir(dataDir, { recursive: true, withFileTypes: true });
      return entries.filter((entry) => entry.isFile()).map((entry) => entry.name);
    },
    rows: async () => {
      const { rows } = await database.pool.query<{ count: bigint }>(
        `SELECT (SELECT count(*) FROM service.upload) + (SELECT count(*) FROM service.car)
           + (SELECT count(*) FROM service.block) + (SELECT count(*) FROM service.content_entry) AS count`,
      );
      return Number(rows[0]?.count);
    },
    close: async () => {
      if (server instanceof Server) server.closeAllConnections();
      await new Promise((done) => server.close(done));
      await services.content.close();
      await services.pool.end();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

function createUploadApp(services: Services, accountId: string): Hono {
  const v0 = createV0App();
  v0.use(async (c, next) => {
    c.set("requestId", "test");
    c.set("caller", { accountId, tier: "free", requestId: "test" });
    await next();
  });
  addFiles(v0, services);
  addMetadata(v0, services);
  addStorage(v0, services);
  const app = new Hono().route("/v0", v0).route("/ipfs", createGateway(services));
  app.onError((error, c) => {
    const known = error instanceof ServiceError ? error : new ServiceError("internal_error", String(error.stack));
    return nok(c, known, "test");
  });
  return app;
}

/** A form of files; a name of undefined makes a part without one. */
export function form(part: string, files: readonly { filename: string; text: string; type?: string }[]): FormData {
  const data = new FormData();
  for (const { filename, text, type = "application/json" } of files)
    data.append(part, new Blob([text], { type }), filename);
  return data;
}
