import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Address, createWalletClient, type Hex, http } from "viem";
import { loadConfig } from "../../src/config/config.ts";
import { runWebhooks } from "../../src/events/run-webhooks.ts";
import { runMetadata } from "../../src/metadata/schedule/run-metadata.ts";
import { wakeRounds } from "../../src/outbox/wake-rounds.ts";
import { createServices } from "../../src/processes/create-services.ts";
import { Rounds } from "../../src/rounds.ts";
import { createHttpServer } from "../../src/server/http-server.ts";
import type { Services } from "../../src/services.ts";
import { createMetrics } from "../../src/telemetry/metrics.ts";
import { createRelayMemory } from "../../src/transactions/track/loop-steps.ts";
import { compileSolidity } from "../setup/compile.ts";
import { addressOf, type NftFixture, nobody as zero } from "../setup/nft-fixture.ts";
import { wait } from "../setup/wait.ts";
import { noise } from "../thumbnails/pictures.ts";
import { goerli, type RelayHarness, randomAddress } from "../transactions/harness.ts";
import { OwnWorker } from "../transactions/own-worker.ts";
import { relayRound } from "../transactions/round.ts";
import type { Aftermath, Asker, Reply, Target } from "./attack.ts";
import { Client } from "./client.ts";

/** Burns all gas, returns a megabyte, or names a server that is slow, redirects or never ends: by the last digit of the token's id. */
const talkerSource = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract CostlyTalker {
  string url;
  constructor(string memory at) { url = at; }
  function tokenURI(uint256 id) external view returns (string memory) {
    if (id % 6 == 0) assembly { mstore(0xffffffff, 1) }
    if (id % 6 == 1) assembly { return(0, 1100000) }
    if (id % 6 == 2) return string.concat('data:application/json,{"name":"long","x":"', string(new bytes(200000)), '"}');
    if (id % 6 == 3) return string.concat(url, "/redirect");
    if (id % 6 == 4) return string.concat(url, "/endless");
    return string.concat(url, "/slow");
  }
}`;

/** Fills thirty words of storage; burns all gas, which a node does at once; returns 100 KB; reverts with them. */
const receiverCode = {
  burner: "0x601e5b808055600190038060025763150b7a0260e01b60005260206000f3",
  looping: "0x600163ffffffff52",
  returning: "0x620186a06000f3",
  reverting: "0x620186a06000fd",
} as const satisfies Record<string, Hex>;

/** A server of somebody who wants this one to work. */
class HostileServer {
  requests = 0;
  readonly #server: Server = createServer((request, response) => {
    this.requests += 1;
    request.resume();
    const { url = "" } = request;
    if (url.startsWith("/redirect")) response.writeHead(302, { Location: `/redirect${Math.random()}` }).end();
    else if (url.startsWith("/endless")) {
      response.on("error", () => undefined);
      const pour = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536, 97)));
      };
      response.on("drain", pour);
      pour();
    } else setTimeout(() => response.end("{}"), 500);
  });

  async listen(): Promise<string> {
    await new Promise<void>((done) => this.#server.listen(0, "127.0.0.1", done));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}

/** What pages make a server ask a node. */
const ofReadings = /^\/(mint\/|console\/(balance\/|figures\b))/;

/** A server as operators run it, a worker that is asked for its work, and everything hostile that attacks need. */
export class Stage {
  readonly h: RelayHarness;
  readonly services: Services;
  readonly worker: Services;
  readonly hostile = new HostileServer();
  /** Of the free account that attacks. */
  account = "";
  readonly #servers: readonly [apis: Server, readings: Server];
  readonly #client = new Client();
  #addresses = 0;

  private constructor(h: RelayHarness, services: Services, worker: Services, readers: Services) {
    this.h = h;
    this.services = services;
    this.worker = worker;
    // Of a local chain the clock is read besides, which costs nothing there; a relay of another one would wait for days.
    this.#servers = [createHttpServer(services, { metrics: createMetrics("api") }), createHttpServer(readers)];
  }

  /**
   * Opens it beside whatever else a test has on the harness. What counts requests is taken away from the plan, so that all of
   * them can be made at once: what one of them costs stays as it is.
   */
  static async open(h: RelayHarness, dataDir: string): Promise<Stage> {
    await h.database.pool.query(
      `UPDATE service.plan SET reads_per_second = 10000, uploads_per_minute = 100000, deploys_per_minute = 100000,
         deploy_requests_per_day = 1000000, transactions_per_day = 1000, transactions_per_month = 1000, max_contracts = 1000,
         max_mints = 1000 WHERE tier = 'free'`,
    );
    const env = {
      ...{ MINTYARD_DATA_DIR: dataDir, TRUSTED_PROXIES: "127.0.0.0/8", MAX_FEE_GWEI_GOERLI: "3000" },
      ...{ METADATA_ALLOW_PRIVATE: "true", WEBHOOKS_ALLOW_PRIVATE: "true" },
    };
    const config = loadConfig({ ...h.environment(), ...env });
    const worker = h.process(env);
    const services = OwnWorker.within(createServices(config, "test", { tenants: true, withoutSigner: true }), worker);
    const stage = new Stage(h, services, worker, h.process({ ...env, LOCAL_GOERLI: "false" }));
    for (const server of stage.#servers) await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    return stage;
  }

  async close(): Promise<void> {
    await this.#client.close();
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    }
    await this.hostile.close();
    await this.services.auth.usage.flush();
    await this.services.content.close();
    await this.services.pool.end();
  }

  /** A free account, which is the one that attacks. @returns its key. */
  async signUp(): Promise<string> {
    const answer = await this.asker(null).send("POST", "/v0/signup", { name: "Mallory" });
    this.account = within(answer, "account_id");
    return within(answer, "api_key");
  }

  /** Bytes that count in the attacking account's storage. */
  async stored(): Promise<number> {
    const text =
      "SELECT coalesce(sum(bytes), 0)::float8 AS bytes FROM service.account_storage WHERE account_id::text = $1";
    return (await this.h.database.pool.query(text, [this.account])).rows[0].bytes;
  }

  /** Processor time of this process that asking took until now. */
  clientMs = (): number => this.#client.processorMs;

  /** Whether the attacker's endpoints have answered a challenge: only then they are sent events. */
  async verifyEndpoints(verified: boolean): Promise<void> {
    await this.h.database.pool.query(
      "UPDATE service.webhook SET verified_at = CASE WHEN $2 THEN now() END, challenges = 0 WHERE account_id::text = $1",
      [this.account, verified],
    );
  }

  /** Somebody at an address that nobody else has, with a key or without one. */
  asker(key: string | null): Asker {
    this.#addresses += 1;
    const address = `198.${18 + (this.#addresses >> 16)}.${(this.#addresses >> 8) & 255}.${this.#addresses & 255}`;
    const ask = async (
      method: string,
      path: string,
      body: unknown,
      more: Record<string, string> = {},
      withinMs?: number,
    ) => {
      const server = this.#servers[ofReadings.test(path) ? 1 : 0];
      const { port } = server.address() as AddressInfo;
      const { bytes, type } = await this.#client.encode(body);
      const headers = {
        ...{ "X-Forwarded-For": address, "Accept-Encoding": "gzip", ...(key ? { Authorization: key } : {}) },
        ...(bytes ? { "Content-Type": type, "Content-Length": String(bytes.length) } : {}),
        ...more,
      };
      return await this.#client.ask({ port, host: "127.0.0.1", method, path, headers }, bytes, withinMs);
    };
    return {
      ...{ key, address },
      send: async (method, path, body, headers) => await ask(method, path, body, headers),
      graphql: async (query, variables = {}) => await ask("POST", "/graphql", { query, variables }),
      watch: async (method, path, body) => await ask(method, path, body, { Accept: "text/event-stream" }, 200),
    };
  }

  /** Until the worker has done what a request made it do. */
  async work(kind: Aftermath): Promise<void> {
    if (kind === "relay") return await this.settle();
    const stop = new AbortController();
    const rounds = new Rounds(stop.signal);
    const connection = { connectionString: this.h.database.url };
    const running = Promise.all(
      kind === "metadata"
        ? [runMetadata(this.worker, rounds)]
        : [runWebhooks(this.worker, rounds), wakeRounds(this.worker, connection, rounds)],
    );
    try {
      // What an attacker's server or contract is slow with ends by bounds of its own; what is counted has been asked by then.
      const end = performance.now() + 8_000;
      let [quiet, seen] = [0, ""];
      await wait(`the end of ${kind}`, async () => {
        const now = `${await this.#waiting(kind)} ${this.hostile.requests} ${this.h.proxy.seen.length}`;
        quiet = now === seen ? quiet + 1 : 0;
        seen = now;
        return quiet > 8 || performance.now() > end;
      });
    } finally {
      stop.abort();
      await running;
    }
  }

  async #waiting(kind: Aftermath): Promise<number> {
    const text =
      kind === "metadata"
        ? "SELECT count(*)::int AS n FROM service.token_metadata WHERE status = 'pending' AND next_attempt_at < clock_timestamp()"
        : "SELECT count(*)::int AS n FROM service.webhook_delivery";
    return (await this.h.database.pool.query(text)).rows[0].n;
  }

  /** Until nothing is under way; rounds that find nothing to do are not counted to anybody. */
  async settle(): Promise<void> {
    const memory = createRelayMemory();
    const look = async () => {
      const { rows } = await this.h.database.pool.query(
        "SELECT FROM service.intent WHERE state NOT IN ('finalized', 'failed_onchain', 'cancelled', 'expired', 'retried')",
      );
      if (rows.length > 0) await relayRound(this.worker, goerli(this.worker), memory);
      return rows.length;
    };
    await wait("the end of all requests", look, { until: (open) => open === 0 });
  }

  /** Makes what attacks are aimed at: contracts of the attacking account, its requests, and everything hostile. */
  async prepare(asker: Asker, index: NftFixture): Promise<Target> {
    const { chain } = this.h;
    const made: Record<string, Address> = {};
    for (const [name, bytecode] of Object.entries(receiverCode)) {
      made[name] = randomAddress();
      await chain.setCode({ address: made[name], bytecode });
    }
    const hostileUrl = await this.hostile.listen();
    const talker = await this.#deployTalker(hostileUrl);
    const [large, holder] = [addressOf(0x77), addressOf(0x78)] as [Address, Address];
    await this.#mintInIndex(101, large, holder, 3_000);
    await this.#mintInIndex(102, talker, holder, 200);
    await index.setHead(200);
    // Read before: what readers make of their lists is no part of what attacks ask for.
    await this.h.database.pool.query(
      `INSERT INTO service.token_metadata (chain_id, contract, token_id, status, next_attempt_at, fetched_at, fetched_block, metadata, name, image)
       SELECT 31337, $1, n, 'fresh', NULL, clock_timestamp(), 100, json_build_object('name', n::text, 'x', repeat('x', 500)), n::text,
         CASE WHEN n < 1000 THEN $2 || '/endless' || n WHEN n < 1010 THEN 'data:image/png,' || n || repeat('a', 1000000) END
       FROM generate_series(0, 2999) n`,
      [Buffer.from(large.slice(2), "hex"), hostileUrl],
    );
    const accounts = (await chain.request({ method: "eth_accounts" } as never)) as Address[];
    const wallet = (accounts[1] ?? zero).toLowerCase() as Address;
    const form = new FormData();
    for (let at = 0; at < 3_000; at += 1) form.append("metadata_files", new Blob([`{"name":"${at}"}`]), `${at}.json`);
    const directory = within(await asker.send("POST", "/v0/metadata/directory", form), "metadata_directory_ipfs_uri");
    const store = async (content: BlobPart, name: string): Promise<string> => {
      const file = new FormData();
      file.append("file", new Blob([content]), name);
      return (
        within(await asker.send("POST", "/v0/files", file), "ipfs_url")
          .split("/")
          .at(-1) ?? ""
      );
    };
    const stored = await store("a file", "a.txt");
    const picture = await store(new Uint8Array(await noise(2_048, 2_048).png().toBuffer()), "a.png");
    const listed = Array.from({ length: 200 }, () => randomAddress());
    const launched =
      await asker.graphql(`mutation { deployCollection(input: { chain: "goerli", name: "Aim", symbol: "A",
      maxSupply: "100", tokensPerMint: "5", mintPriceWei: "1", owner: "${wallet}", treasury: "${wallet}",
      publicMintStart: "2022-07-12T11:30:48Z", prerevealTokenUri: "ipfs://a", presaleMintStart: "2022-07-11T11:30:48Z",
      allowlist: ${JSON.stringify(listed)} }) { deployment { id transactionHash predictedAddress } userErrors { message } } }`);
    await this.settle();
    const products: Address[] = [];
    for (const standard of ["ERC721", "ERC1155"]) {
      const product =
        await asker.graphql(`mutation { createContract(input: { chain: "goerli", name: "${standard}", symbol: "P",
        owner: "${wallet}", standard: ${standard}, metadataUpdatable: true }) { request { id contract } userErrors { message } } }`);
      await this.settle();
      products.push(within(product, "contract") as Address);
    }
    const [erc721 = talker, erc1155 = talker] = products;
    const mint = await asker.graphql(`mutation { mint(chain: "goerli", contract: "${erc721}",
      token: { to: "${wallet}", uri: "ipfs://a", tokenId: "1" }) { request { id transactionHash } userErrors { message } } }`);
    await this.settle();
    const collection = within(launched, "predictedAddress").toLowerCase() as Address;
    const changed =
      await asker.graphql(`mutation { updateCollection(input: { chain: "goerli", collection: "${collection}",
      royaltiesBps: 77 }) { update { id } userErrors { message } } }`);
    await this.settle();
    const key = await asker.graphql(
      'mutation { createKey(name: "aim", scopes: [READ]) { apiKey { id } userErrors { message } } }',
    );
    const webhook = await asker.send("POST", "/v1/webhooks", {
      url: `${hostileUrl}/redirect`,
      contracts: [collection, erc721, erc1155],
    });
    return {
      ...{
        collection,
        listed,
        erc721,
        erc1155,
        wallet,
        large,
        holder,
        talker,
        hostileUrl,
        directory: directory.slice(7, -1),
      },
      ...{
        file: stored,
        picture,
        deployment: within(launched, "id"),
        deploymentHash: within(launched, "transactionHash") as Hex,
      },
      ...{ mintRequest: within(mint, "id"), mintHash: within(mint, "transactionHash") as Hex },
      ...{ update: within(changed, "id"), key: within(key, "id"), webhook: within(webhook, "id") },
      ...(made as Record<keyof typeof receiverCode, Address>),
    };
  }

  /** As the ledger has it, in one statement: many tokens of one contract, all of one holder. */
  async #mintInIndex(block: number, contract: Address, holder: Address, count: number): Promise<void> {
    const bytes = (hex: string) => Buffer.from(hex.slice(2), "hex");
    await this.h.database.pool.query(
      `INSERT INTO c31337_test.transfer SELECT $5::int, n, 0, sha256($1), extract(epoch FROM now())::bigint - 900, sha256($1), $2, $1, n,
         $3, $2, NULL, 1, 'ERC721' FROM generate_series(0, $4::int - 1) n`,
      [bytes(contract), bytes(holder), bytes(zero), count, block],
    );
  }

  async #deployTalker(url: string): Promise<Address> {
    const contract = compileSolidity(talkerSource)["CostlyTalker"];
    if (!contract) throw new Error("not compiled");
    const { chain } = this.h;
    const [account] = (await chain.request({ method: "eth_accounts" } as never)) as Address[];
    if (!account) throw new Error("the node has no accounts");
    const wallet = createWalletClient({ account, transport: http(this.h.node.url) });
    const hash = await wallet.deployContract({ ...contract, args: [url], chain: null } as never);
    const { contractAddress } = await chain.waitForTransactionReceipt({ hash });
    return (contractAddress ?? zero).toLowerCase() as Address;
  }
}

/** The first member of that name in an answer, at whatever depth. */
function within({ status, text }: Reply, name: string): string {
  const found = new RegExp(`"${name}":"([^"]+)"`).exec(text)?.[1];
  if (found === undefined) throw new Error(`no ${name} in an answer with status ${status}: ${text.slice(0, 500)}`);
  return found;
}
