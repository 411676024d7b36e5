import { join } from "node:path";
import type { Address } from "viem";
import { localChainIds } from "../chains.ts";
import { returnMemory } from "../compact-heap.ts";
import type { DataFolder } from "./data-folder.ts";
import type { Supervisor } from "./supervisor.ts";

/** A local chain's node, running. */
export interface LocalNode {
  name: string;
  id: number;
  rpcUrl: string;
}

/** The same with what the service needs on it. */
export interface LocalChain extends LocalNode {
  relayer: Address;
  relayerKeyFile: string;
  factory: { address: Address; block: bigint };
  /** Of the product contracts; `block` in decimal. */
  operator: { address: Address; block: string; easyContract: Address };
}

const script = join(import.meta.dirname, "../../bin/local-chain.ts");
const prefix = "chain-";

/** Name of the child process that runs a chain. */
export function chainProcess(name: string): string {
  return `${prefix}${name}`;
}

export function isLocalChainProcess(name: string): boolean {
  return name.startsWith(prefix);
}

/**
 * Starts the node of one named local chain.
 *
 * @param env for the process.
 * @throws Error for a name that is no local chain's.
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
    args: [script, "--chain-id", String(id), "--port", String(port), "--dir", dir],
    env: { ...returnMemory, ...env },
    readyWithinMs: 120_000,
  });
  return { name, id, rpcUrl: `http://127.0.0.1:${port}` };
}
