import { type ChildProcess, fork } from "node:child_process";
import { join } from "node:path";
import type { Address } from "viem";
import { localChainIds } from "../chains.ts";
import { returnMemory } from "../compact-heap.ts";
import type { DataFolder } from "./data-folder.ts";
import { nodeFlags, type Supervisor, withoutKeys } from "./supervisor.ts";

/** The running node of a local chain. */
export interface LocalNode {
  name: string;
  id: number;
  rpcUrl: string;
}

/** A local node with the contracts and the wallet that the service needs on it. */
export interface LocalChain extends LocalNode {
  relayer: Address;
  relayerKeyFile: string;
  factory: { address: Address; block: bigint };
  /** Operator of product contracts; `block` in decimal. */
  operator: { address: Address; block: string; easyContract: Address };
}

const nodeScript = join(import.meta.dirname, "../../bin/local-chain.ts");
const prefix = "chain-";

/** Name of the child process for a chain. */
export function chainProcess(name: string): string {
  return `${prefix}${name}`;
}

export function isLocalChainProcess(name: string): boolean {
  return name.startsWith(prefix);
}

/**
 * Starts the node of one named local chain.
 *
 * @param env the process's environment.
 * @throws Error for an unknown name.
 */
export async function runLocalChain(
  name: string,
  folder: DataFolder,
  supervisor: Supervisor,
  env: Record<string, string>,
): Promise<LocalNode> {
  const id = localChainIds[name];
  if (id === undefined)
    throw new Error(`MINTYARD_LOCAL_CHAINS: ${name} is none of ${Object.keys(localChainIds).join(", ")}`);
  const port = await folder.port(chainProcess(name));
  const dir = folder.folder(`chain-${id}`);
  await supervisor.start({
    name: chainProcess(name),
    args: [nodeScript, "--chain-id", String(id), "--port", String(port), "--dir", dir],
    env: { ...returnMemory, ...env },
    readyWithinMs: 120_000,
  });
  return { name, id, rpcUrl: `http://127.0.0.1:${port}` };
}

/** The factory on a local chain, as stored in the data folder. */
export interface FactoryRecord {
  address: Address;
  /** Decimal. */
  block: string;
  /** Operator of product contracts; absent in older records. */
  operator?: { address: Address; block: string; easyContract: Address };
}

/** The calls to the setup process: each with its question and its answer. */
export interface SetupCalls {
  /** Funds the relayer wallet and deploys the factory and the operator; keeps what is there already. */
  prepare: {
    ask: { node: LocalNode; relayerKeyFile: string; record: FactoryRecord | null; logLevel: string };
    answer: { relayer: Address; factory: Required<FactoryRecord> };
  };
  /** The chains that an environment configures. */
  chains: { ask: Record<string, string | undefined>; answer: ServedChain[] };
}

/** A chain as the ready line describes it. */
export interface ServedChain {
  name: string;
  id: number;
  local: boolean;
  rpcUrls: string[];
  factory: { address: Address } | null;
  /** Paying wallets, lower case. */
  wallets: Address[];
}

export type SetupRequest = {
  [Name in keyof SetupCalls]: { id: number; call: Name; ask: SetupCalls[Name]["ask"] };
}[keyof SetupCalls];

export interface SetupReply {
  id: number;
  answer?: unknown;
  error?: string;
}

const setupScript = join(import.meta.dirname, "chain-setup-process.ts");

/**
 * A process that runs while the stack starts. The modules that talk to chains take some 40 MB, which the launcher would
 * otherwise keep for good.
 */
export class ChainSetup {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #asked = 0;

  /** @param env for the process, added to this one's. */
  constructor(env: Readonly<Record<string, string>>) {
    this.#process = fork(setupScript, [], {
      execArgv: nodeFlags,
      env: { ...withoutKeys(process.env), ...env },
      // A process group of its own: Ctrl-C reaches only the launcher.
      detached: true,
    });
    this.#process.on("message", (reply: SetupReply) => {
      const { id, answer, error } = reply;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(answer);
      else waiting?.reject(new Error(error));
    });
    const failed = (how: string) => {
      for (const { reject } of this.#waiting.values()) reject(new Error(`the setup of the chains ended ${how}`));
      this.#waiting.clear();
    };
    this.#process.once("error", (error) => failed(`before it began: ${error.message}`));
    this.#process.once("exit", (code, signal) => failed(`with ${signal ?? `code ${code}`}`));
  }

  /** @throws Error with the setup process's error, or when that process has ended. */
  async ask<Name extends keyof SetupCalls>(
    call: Name,
    ask: SetupCalls[Name]["ask"],
  ): Promise<SetupCalls[Name]["answer"]> {
    this.#asked += 1;
    const id = this.#asked;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#process.send({ id, call, ask }, (error) => {
      if (error) waiting.reject(new Error(`the setup of the chains is gone: ${error.message}`));
    });
    return (await waiting.promise) as SetupCalls[Name]["answer"];
  }

  /** Closes the channel, which ends the process; it still saves its compile cache. Unanswered calls fail. */
  end(): void {
    if (this.#process.connected) this.#process.disconnect();
  }
}
