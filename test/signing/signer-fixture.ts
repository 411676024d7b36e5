import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Address, Hex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { ServiceProcess } from "../setup/service-process.ts";

/** The signer's process with two wallets on one local chain, in a folder of its own. */
export class RunningSigner {
  readonly dir: string;
  readonly keys: readonly Hex[];
  readonly #env: Record<string, string>;
  #process: ServiceProcess;

  private constructor(dir: string, keys: readonly Hex[], env: Record<string, string>, process: ServiceProcess) {
    this.dir = dir;
    this.keys = keys;
    this.#env = env;
    this.#process = process;
  }

  /** @param chain what the rules are made of. @param given keys and further variables. */
  static async start(
    chain: { id: number; factory: Address },
    given: { keys?: readonly Hex[]; env?: Record<string, string> } = {},
  ): Promise<RunningSigner> {
    const dir = await mkdtemp(join(tmpdir(), "mintyard-signer-"));
    const keys = given.keys ?? [generatePrivateKey(), generatePrivateKey()];
    const env = {
      MINTYARD_DATA_DIR: dir,
      CHAIN_ID_GOERLI: String(chain.id),
      LOCAL_GOERLI: "true",
      FACTORY_GOERLI: chain.factory,
      RELAYER_KEY_GOERLI: keys.join(","),
      ...given.env,
    };
    return new RunningSigner(dir, keys, env, await ServiceProcess.start("signer", env));
  }

  get pid(): number {
    return this.#process.pid;
  }

  get output(): string {
    return this.#process.output;
  }

  get socket(): string {
    return join(this.dir, "signer.sock");
  }

  get wallets(): Address[] {
    return this.keys.map((key) => privateKeyToAccount(key).address.toLowerCase() as Address);
  }

  token(name: "signer-token" | "signer-admin-token" = "signer-token"): string {
    return readFileSync(join(this.dir, "keys", name), "utf8").trim();
  }

  /** What those who ask are told. */
  access(): Record<string, string> {
    return {
      SIGNER_URL: `unix:${this.socket}`,
      SIGNER_TOKEN_FILE: join(this.dir, "keys/signer-token"),
      SIGNER_ADMIN_TOKEN_FILE: join(this.dir, "keys/signer-admin-token"),
      RELAYER_ADDRESS_GOERLI: this.wallets.join(","),
    };
  }

  async kill(): Promise<void> {
    await this.#process.end("SIGKILL");
  }

  /** @param changes further variables, of this start alone. */
  async restart(changes: Record<string, string> = {}): Promise<void> {
    this.#process = await ServiceProcess.start("signer", { ...this.#env, ...changes });
  }

  /** Another one with the same settings. @throws Error with its output when it does not start. */
  async startTwin(): Promise<ServiceProcess> {
    return await ServiceProcess.start("signer", this.#env);
  }

  async stop(): Promise<void> {
    await this.#process.end();
    await rm(this.dir, { recursive: true, force: true });
  }

  async ask(
    method: string,
    path: string,
    body: unknown = undefined,
    token: string | null = this.token(),
  ): Promise<{ status: number; body: Record<string, unknown>; text: string }> {
    const text = body === undefined ? "" : typeof body === "string" ? body : JSON.stringify(body);
    return await new Promise((done, failed) => {
      const headers = token === null ? {} : { authorization: `Bearer ${token}` };
      const asked = request({ socketPath: this.socket, method, path, headers, agent: false }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.once("error", failed);
        answer.once("end", () => {
          const said = Buffer.concat(chunks).toString("utf8");
          const isJson = answer.headers["content-type"] === "application/json";
          const read = isJson ? (JSON.parse(said) as Record<string, unknown>) : {};
          done({ status: answer.statusCode ?? 0, body: read, text: said });
        });
      });
      asked.once("error", failed);
      asked.end(text);
    });
  }
}
