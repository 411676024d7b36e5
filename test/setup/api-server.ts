import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { watchService } from "../../src/accounts/service-gauges.ts";
import { watchStatus } from "../../src/accounts/status-gauges.ts";
import { createAccount } from "../../src/auth/keys.ts";
import type { RequestLog } from "../../src/auth/request-log.ts";
import { loadConfig } from "../../src/config/config.ts";
import type { Tier } from "../../src/db/tables/accounts.ts";
import { createRequestLog } from "../../src/processes/create-request-log.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import type { Services } from "../../src/services.ts";
import { createMetrics, watchPool } from "../../src/telemetry/metrics.ts";
import { createIndexedDatabase, type TestDatabase } from "./database.ts";
import { keepIdleConnections } from "./idle-connections.ts";
import type { NftFixture } from "./nft-fixture.ts";
import { type Answer, send } from "./send.ts";

/** The whole HTTP server in this process, over a real database with the index's tables and a data folder. */
export class ApiServer {
  readonly services: Services;
  readonly database: TestDatabase;
  readonly server: Server;
  readonly requestLog: RequestLog | null;
  readonly nfts: NftFixture;
  readonly dataDir: string;

  private constructor(
    services: Services,
    database: TestDatabase,
    server: Server,
    requestLog: RequestLog | null,
    nfts: NftFixture,
    dataDir: string,
  ) {
    this.services = services;
    this.database = database;
    this.server = server;
    this.requestLog = requestLog;
    this.nfts = nfts;
    this.dataDir = dataDir;
  }

  static async start(env: Record<string, string> = {}): Promise<ApiServer> {
    const {
      database,
      nfts: [nfts],
    } = await createIndexedDatabase([31337, 31339]);
    if (!nfts) throw new Error("no fixture");
    const dataDir = await mkdtemp(join(tmpdir(), "mintyard-ops-"));
    const config = loadConfig({
      DATABASE_URL: database.url,
      MINTYARD_DATA_DIR: dataDir,
      LOG_LEVEL: "silent",
      RPC_URL_GOERLI: "http://127.0.0.1:9",
      CHAIN_ID_GOERLI: "31337",
      LOCAL_GOERLI: "true",
      RPC_URL_ETHEREUM: "http://127.0.0.1:9",
      CHAIN_ID_ETHEREUM: "31339",
      LOCAL_ETHEREUM: "true",
      // A machine that does other things needs seconds for what takes milliseconds here.
      READ_TIMEOUT_MS: "60000",
      REPORT_TIMEOUT_MS: "60000",
      READ_WAIT_MS: "60000",
      ...env,
    });
    const services = createServices(config, "test", { tenants: true });
    const metrics = createMetrics("api");
    watchPool(metrics, services.pool);
    watchStatus(metrics, services);
    watchService(metrics, services);
    const requestLog = createRequestLog(services);
    const server = createHttpServer(services, { metrics, requestLog });
    keepIdleConnections(server);
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    return new ApiServer(services, database, server, requestLog, nfts, dataDir);
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** A fresh account. */
  async account(tier: Tier = "free", name = "test"): Promise<{ id: string; key: string }> {
    const key = randomUUID();
    const { config } = this.services;
    return { id: await createAccount(this.database.db, config.keyPepper, { name, tier, key }), key };
  }

  async send(method: string, path: string, key: string | null, body?: unknown): Promise<Answer> {
    return await send(this.url + path, { method, key, body });
  }

  async graphql(key: string | null, query: string, variables: Record<string, unknown> = {}): Promise<Answer> {
    return await this.send("POST", "/graphql", key, { query, variables });
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
    await this.services.auth.usage.flush();
    await this.requestLog?.flush();
    await this.services.linkedPictures.close();
    this.services.thumbnails.close();
    await this.services.content.close();
    await this.services.feed.close();
    await this.services.pool.end();
    await this.database.drop();
    await rm(this.dataDir, { recursive: true, force: true });
  }
}
