import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { type Address, getContract, type Hex, type PublicClient } from "viem";
import { expect } from "vitest";
import { connect, type Wallet } from "../../bin/demo-wallets.ts";
import { collectionAbi } from "../../contracts/abi/collection.ts";
import { type EmbeddedPostgres, startPostgres } from "../../src/embedded/postgres.ts";
import type { ReadyInfo } from "../../src/embedded/ready-info.ts";
import { freePorts } from "../../src/free-port.ts";
import { startAnvil, stopAnvil } from "../chaos/fleet.ts";
import { Client } from "../setup/client.ts";
import { Nginx, nginxVersion } from "../setup/nginx.ts";
import { ReverseProxy } from "../setup/reverse-proxy.ts";
import { RpcProxy } from "../setup/rpc-proxy.ts";
import type { Answer } from "../setup/send.ts";
import { patient, wait } from "../setup/wait.ts";
import { documented } from "./documented.ts";
import { type CommandResult, type Env, Installation, runLine } from "./installation.ts";

interface ChainNode {
  id: number;
  /** Of the node itself; wallets of people use it. */
  nodeUrl: string;
  /** The settings of the service. */
  proxy: RpcProxy;
  process: Awaited<ReturnType<typeof startAnvil>>;
}

export interface Launched {
  chain: string;
  address: Address;
  hash: Hex;
  owner: Wallet;
  /** Token ids, as the service writes them. */
  minted: string[];
  mint(): Promise<void>;
}

/** What stands around one installation (a database server, two chains, a proxy), and what its clients do. */
export class Site {
  readonly installation = new Installation();
  /** /etc/mintyard/env, and what /etc/mintyard/worker.env and /etc/mintyard/signer.env have. */
  readonly settings: Env = {};
  readonly workerSettings: Env = {};
  readonly signerSettings: Env = {};
  readonly launched: Launched[] = [];
  key = "";
  analyst = "";

  readonly dir: string;
  readonly postgresPort: number;
  readonly apiPorts: readonly number[];
  readonly polygon: ChainNode;
  readonly base: ChainNode;
  readonly front: Nginx | ReverseProxy;
  /** Replaced when the server was stopped. */
  postgres: EmbeddedPostgres;

  private constructor(
    parts: Pick<Site, "dir" | "postgresPort" | "apiPorts" | "polygon" | "base" | "front" | "postgres">,
  ) {
    this.dir = parts.dir;
    this.postgresPort = parts.postgresPort;
    this.apiPorts = parts.apiPorts;
    this.polygon = parts.polygon;
    this.base = parts.base;
    this.front = parts.front;
    this.postgres = parts.postgres;
  }

  /** nginx with the template of deploy/ where this machine has one; elsewhere what does the same. */
  static async start(): Promise<Site> {
    const dir = await mkdtemp(join(tmpdir(), "mintyard-deploying-"));
    const [port = 0, first = 0, second = 0] = await freePorts(3);
    const apiPorts = [first, second];
    const [postgres, polygon, base, front] = await Promise.all([
      startPostgres(join(dir, "postgres"), port),
      startNode(137),
      startNode(8453),
      nginxVersion === null ? ReverseProxy.start(apiPorts) : Nginx.start(apiPorts),
    ]);
    return new Site({ dir, postgres, postgresPort: port, apiPorts, polygon, base, front });
  }

  async stop(): Promise<void> {
    await this.installation.stop();
    await this.front.stop();
    for (const node of [this.polygon, this.base]) {
      await node.proxy.stop();
      stopAnvil(node.process);
    }
    await this.postgres.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  client(): Client {
    return new Client({ rest: `${this.front.url}/v0`, graphql: `${this.front.url}/graphql` } as ReadyInfo, this.key);
  }

  /** A command as the documents have it. @param put what stands for the words that are the operator's own. */
  async mintyard(written: string, put: Env = {}, env: Env = this.settings): Promise<CommandResult> {
    return await runLine(documented(written, put), env);
  }

  async asAdministrator(database: string, sql: string): Promise<void> {
    const url = new URL(this.postgres.url);
    url.pathname = `/${database}`;
    const admin = new pg.Client({ connectionString: url.href });
    await admin.connect();
    try {
      await admin.query(sql);
    } finally {
      await admin.end();
    }
  }

  /** One launch by a legacy client, until its address is known and has code. */
  async launch(chain: string, { nodeUrl, id }: ChainNode): Promise<Launched> {
    const { node, createWallet } = connect(nodeUrl, id);
    const owner = await createWallet();
    const wallet = owner.account.address;
    const posted = await this.#deploy({
      chain,
      name: `Deployed for real ${this.launched.length}`,
      symbol: "REAL",
      max_supply: 10,
      mint_price: 0.001,
      tokens_per_mint: 5,
      owner_address: wallet,
      treasury_address: wallet,
      public_mint_start_date: "2020-01-01T00:00:00+00:00",
      metadata_updatable: true,
      prereveal_token_uri: "ipfs://bafkreiepfwroxy47wzvllrfyu5dwecz6blkiztzmc3r3frryasdve74zii",
    });
    const hash = posted.body["transaction_hash"] as Hex;
    const found = await this.client().until(
      `/contracts/${hash}?chain=${chain}`,
      ({ body }) => body["contract_address"] != null,
    );
    const address = found.body["contract_address"] as Address;
    expect((await node.getCode({ address }))?.length).toBeGreaterThan(2);
    const contract = getContract({
      address,
      abi: collectionAbi,
      client: { public: node as PublicClient, wallet: owner },
    });
    const one: Launched = {
      ...{ chain, address, hash, owner, minted: [] },
      async mint() {
        const sent = await contract.write.mint([1n], { value: 10n ** 15n });
        expect((await node.waitForTransactionReceipt({ hash: sent })).status).toBe("success");
        this.minted.push(String(this.minted.length));
      },
    };
    this.launched.push(one);
    return one;
  }

  /** The same, and its first token is minted and listed. */
  async launchAndMint(chain: string, node: ChainNode): Promise<Launched> {
    const one = await this.launch(chain, node);
    await one.mint();
    await this.untilOwned(one, ["0"]);
    return one;
  }

  async untilOwned({ chain, owner }: Launched, ids: string[]): Promise<void> {
    const owned = async () => {
      const { body } = await this.client().get(`/accounts/${owner.account.address}?chain=${chain}`);
      return ((body["nfts"] ?? []) as { token_id: string }[]).map((nft) => nft.token_id).sort();
    };
    await expect.poll(owned, { ...patient, interval: 200 }).toEqual(ids);
  }

  async statusOf(name: string): Promise<Record<string, unknown>> {
    // Each process for itself: the proxy does not pass this path on.
    const { chains } = (await (await fetch(`http://127.0.0.1:${this.apiPorts[0]}/status`)).json()) as {
      chains: Record<string, unknown>[];
    };
    return chains.find(({ chain }) => chain === name) ?? {};
  }

  async untilReady(): Promise<void> {
    const ready = async (port: number) =>
      await fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ status }) => status,
        () => 0,
      );
    await expect.poll(() => Promise.all(this.apiPorts.map(ready)), patient).toEqual(this.apiPorts.map(() => 200));
  }

  /** Where the service says "later" (503 with `Retry-After`) a client asks again, as the answer asks. */
  async #deploy(request: Record<string, unknown>): Promise<Answer> {
    const ask = async () => {
      const answer = await this.client().json("/contracts/collections", request);
      if (answer.status !== 200) {
        expect(answer.status, answer.text).toBe(503);
        expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
        await sleep(1_000);
      }
      return answer;
    };
    const lines = () => this.installation.tail("api-1").split("\n");
    return await wait("an acceptance", ask, { until: ({ status }) => status === 200, lines });
  }
}

/** What a command printed, when it ended well. */
export function outputOf({ code, stdout, stderr }: CommandResult): string {
  if (code !== 0) throw new Error(`ended with code ${code}: ${stdout}${stderr}`);
  return stdout;
}

async function startNode(id: number): Promise<ChainNode> {
  const [port = 0] = await freePorts(1);
  const nodeUrl = `http://127.0.0.1:${port}`;
  // A block each second, and one that is final after eight.
  const process = await startAnvil(port, id, ["--block-time", "1", "--slots-in-an-epoch", "4"]);
  return { id, nodeUrl, proxy: await RpcProxy.start(nodeUrl), process };
}
