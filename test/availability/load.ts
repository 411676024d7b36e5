import { randomBytes, randomUUID } from "node:crypto";
import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { wait } from "../setup/wait.ts";

/** One exchange as a client saw it; status 0 is a connection that broke. */
export interface Outcome {
  kind: string;
  at: number;
  status: number;
  retryAfter: string | null;
  text: string;
}

/** Whether a deployment is on disk and waits for a worker: no failure, and the answer says when to come again. */
export function isUnsigned({ kind, status, retryAfter, text }: Outcome): boolean {
  return kind === "deploy" && status === 503 && retryAfter !== null && text.includes("accepted but not sent yet");
}

interface Sent {
  method: string;
  path: string;
  body?: string;
  headers?: Record<string, string>;
}

/** Clients of one address that read, upload and deploy without a pause, over connections that are kept. */
export class Load {
  readonly outcomes: Outcome[] = [];
  /** CIDs of uploads that were acknowledged. */
  readonly uploads: string[] = [];
  /** Idempotency key of each deployment asked for; the hash once it was acknowledged. */
  readonly deployments = new Map<string, string | null>();
  readonly #base: URL;
  readonly #key: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 32 });
  readonly #inFlight = new Set<Promise<Outcome>>();
  #running: Promise<void>[] = [];
  #over = false;

  constructor(base: string, key: string) {
    this.#base = new URL(base);
    this.#key = key;
  }

  /**
   * @param deploymentsPerSecond 0 where there is no chain.
   * @param pauseMs of each client after an answer; three times as long after that of an upload.
   */
  start(deploymentsPerSecond = 2, pauseMs = 10): void {
    const loop = async (work: () => Promise<void>, restMs = pauseMs) => {
      while (!this.#over) {
        await work();
        await sleep(restMs);
      }
    };
    this.#running = [
      loop(() => this.#read("/v0/me/settings")),
      loop(() => this.#read("/v0/nfts?chain=goerli")),
      loop(() => this.#read("/v0/me/storage?type=metadata")),
      loop(() => this.#query()),
      loop(() => this.#upload(), 3 * pauseMs),
      ...(deploymentsPerSecond > 0 ? [loop(() => this.deploy(randomUUID()), 1_000 / deploymentsPerSecond)] : []),
    ];
  }

  /** Waits until so many more requests were answered, or broke. */
  async answered(count: number): Promise<void> {
    const enough = this.outcomes.length + count;
    await wait(`${count} more answers`, () => this.outcomes.length >= enough);
  }

  /** Waits for the answers of everything that is asked now. */
  async settled(): Promise<void> {
    await Promise.all(this.#inFlight);
  }

  async stop(): Promise<void> {
    this.#over = true;
    await Promise.all(this.#running);
    this.#agent.destroy();
  }

  /**
   * Asks for a deployment under a key; asking again is the same one. What is accepted and not signed yet is asked for
   * again when the answer says, as its clients do: no worker may be alive for a while, and a new one has to start.
   */
  async deploy(key: string): Promise<void> {
    if (!this.deployments.has(key)) this.deployments.set(key, null);
    const wallet = `0x${key.replaceAll("-", "")}${"7".repeat(8)}`;
    const sent: Sent = {
      method: "POST",
      path: "/v0/contracts/collections",
      headers: { "Content-Type": "application/json", "Idempotency-Key": key },
      body: JSON.stringify({
        ...{ chain: "goerli", name: `Load ${key}`, symbol: "L", max_supply: 10, mint_price: 0, tokens_per_mint: 1 },
        ...{ owner_address: wallet, treasury_address: wallet, public_mint_start: "2022-07-12T11:30:48" },
      }),
    };
    let answer = await this.#record("deploy", sent);
    while (isUnsigned(answer)) {
      await sleep(1_000 * Number(answer.retryAfter));
      answer = await this.#record("deploy", sent);
    }
    if (answer.status === 200) this.deployments.set(key, JSON.parse(answer.text).transaction_hash);
  }

  async #read(path: string): Promise<void> {
    await this.#record("read", { method: "GET", path });
  }

  async #query(): Promise<void> {
    const query = encodeURIComponent("{ viewer { id } status { database } }");
    await this.#record("query", {
      method: "GET",
      path: `/graphql?query=${query}`,
      headers: { Accept: "application/json" },
    });
  }

  async #upload(): Promise<void> {
    const answer = await this.#record("upload", {
      ...{ method: "POST", path: "/v0/metadata", headers: { "Content-Type": "application/json" } },
      body: JSON.stringify({ name: randomBytes(9).toString("hex"), description: "", file_url: "ipfs://x" }),
    });
    if (answer.status === 200) this.uploads.push(String(JSON.parse(answer.text).metadata_uri).split("/").at(-1) ?? "");
  }

  async #record(kind: string, sent: Sent): Promise<Outcome> {
    const asked = this.send(sent);
    this.#inFlight.add(asked);
    const outcome = { ...(await asked), kind };
    this.#inFlight.delete(asked);
    this.outcomes.push(outcome);
    return outcome;
  }

  send({ method, path, body, headers }: Sent): Promise<Outcome> {
    return new Promise((done) => {
      const end = (status: number, retryAfter: string | null, text: string) =>
        done({ kind: "", at: performance.now(), status, retryAfter, text });
      const outgoing = request(
        {
          ...{ host: this.#base.hostname, port: this.#base.port, method, path, agent: this.#agent },
          headers: { Authorization: this.#key, ...headers },
        },
        (incoming) => {
          let text = "";
          incoming.setEncoding("utf8");
          incoming.on("data", (chunk) => {
            text += chunk;
          });
          // A GraphQL answer with errors is no answer, whatever its status.
          const status = () =>
            text.startsWith('{"errors"') && incoming.statusCode === 200 ? 599 : incoming.statusCode;
          incoming.on("end", () => end(status() ?? 0, incoming.headers["retry-after"] ?? null, text));
          incoming.on("error", (error) => end(0, null, String(error)));
        },
      );
      outgoing.on("error", (error) => end(0, null, String(error)));
      outgoing.end(body);
    });
  }
}
