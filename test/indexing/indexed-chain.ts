import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { type Abi, createTestClient, type Hex, http, publicActions, walletActions } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { hardhat } from "viem/chains";
import { freePorts } from "../../src/free-port.ts";
import { bareEnvironment } from "../setup/bare-environment.ts";
import { type CompiledContract, compileSolidity } from "../setup/compile.ts";
import { slowness, wait } from "../setup/wait.ts";

/** Accounts that a development node funds. */
export const accounts = [0, 1, 2].map((addressIndex) =>
  mnemonicToAccount("test test test test test test test test test test test junk", { addressIndex }),
);
const [deployer] = accounts as [ReturnType<typeof mnemonicToAccount>];

const presets = ["ERC721PresetMinterPauserAutoId", "ERC1155PresetMinterPauser", "ERC20PresetMinterPauser"];
const paths = ["ERC721", "ERC1155", "ERC20"].map(
  (kind, index) => `@openzeppelin/contracts/token/${kind}/presets/${presets[index]}.sol`,
);
const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
${paths.map((path) => `import "${path}";`).join("\n")}
/// Answers whatever it is set to, as a hostile contract may.
contract Forger {
  function emitLog(bytes32[] calldata topics, bytes calldata data) public {
    bytes memory copy = data;
    bytes32 t0 = topics[0];
    bytes32 t1 = topics.length > 1 ? topics[1] : bytes32(0);
    bytes32 t2 = topics.length > 2 ? topics[2] : bytes32(0);
    bytes32 t3 = topics.length > 3 ? topics[3] : bytes32(0);
    uint256 count = topics.length;
    assembly {
      switch count
      case 1 { log1(add(copy, 32), mload(copy), t0) }
      case 2 { log2(add(copy, 32), mload(copy), t0, t1) }
      case 3 { log3(add(copy, 32), mload(copy), t0, t1, t2) }
      default { log4(add(copy, 32), mload(copy), t0, t1, t2, t3) }
    }
  }
}`;

let compiled: Record<string, CompiledContract> | undefined;

export function contracts(): Record<"Erc721" | "Erc1155" | "Erc20" | "Forger", CompiledContract> {
  compiled ??= compileSolidity(source, paths);
  const pick = (name: string) => {
    const contract = compiled?.[name];
    if (!contract) throw new Error(`${name} was not compiled`);
    return contract;
  };
  return {
    Erc721: pick("ERC721PresetMinterPauserAutoId"),
    Erc1155: pick("ERC1155PresetMinterPauser"),
    Erc20: pick("ERC20PresetMinterPauser"),
    Forger: pick("Forger"),
  };
}

export type Chain = Awaited<ReturnType<typeof startChain>>;

/** A development chain in a process of its own. */
export async function startChain(port?: number) {
  const directory = await mkdtemp(join(tmpdir(), "mintyard-chain-"));
  const [free = 0] = await freePorts(1);
  const used = port ?? free;
  const args = ["bin/local-chain.ts", "--chain-id", "31337", "--port", String(used), "--dir", directory];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "inherit", "ipc"] });
  await untilReady(child, "chain");
  const url = `http://127.0.0.1:${used}`;
  const client = createTestClient({
    mode: "hardhat",
    chain: hardhat,
    transport: http(url),
    account: deployer,
    pollingInterval: 20,
  })
    .extend(publicActions)
    .extend(walletActions);
  return {
    url,
    port: used,
    client,
    deploy: async ({ abi, bytecode }: CompiledContract, args: readonly unknown[] = []) => {
      const hash = await client.deployContract({ abi, bytecode, args });
      const { contractAddress } = await client.waitForTransactionReceipt({ hash });
      if (!contractAddress) throw new Error("no contract was created");
      return { address: contractAddress, abi };
    },
    call: async (
      contract: { address: Hex; abi: Abi },
      functionName: string,
      args: readonly unknown[],
      account = deployer,
    ) => {
      const hash = await client.writeContract({ ...contract, functionName, args, account, chain: hardhat });
      return client.waitForTransactionReceipt({ hash });
    },
    stop: async () => {
      await end(child, "SIGTERM");
      await rm(directory, { recursive: true, force: true });
    },
  };
}

export type Indexer = Awaited<ReturnType<typeof startIndexer>>;

/** The real indexer process, as `npm start` runs it. Resolves when it says that it has caught up. */
export async function startIndexer(
  databaseUrl: string,
  rpcUrls: string,
  env: Record<string, string> = {},
  chain = "goerli",
) {
  const suffix = chain.toUpperCase();
  const directory = await mkdtemp(join(tmpdir(), "mintyard-indexer-"));
  const started = Date.now();
  const child = spawn(process.execPath, ["src/processes/indexer.ts", "--chain", chain], {
    stdio: ["ignore", "inherit", process.env["SHOW_LOG"] ? "inherit" : "pipe", "ipc"],
    env: {
      ...bareEnvironment,
      PATH: "",
      DATABASE_URL: databaseUrl,
      MINTYARD_DATA_DIR: directory,
      [`RPC_URL_${suffix}`]: rpcUrls,
      [`CHAIN_ID_${suffix}`]: "31337",
      [`LOCAL_${suffix}`]: "true",
      LOG_LEVEL: process.env["SHOW_LOG"] ?? "info",
      ...env,
    },
  });
  let log = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    log += chunk.toString();
  });
  await untilReady(child, "indexer", () => log);
  return {
    child,
    readyAfterMs: Date.now() - started,
    log: () => log,
    ponderPid: () => childOf(child.pid ?? 0),
    end: async (signal: NodeJS.Signals = "SIGTERM") => {
      await end(child, signal);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Waits until the index has taken in the chain's present head. */
export async function untilIndexed(pool: pg.Pool, chain: Chain): Promise<void> {
  const head = await chain.client.getBlockNumber({ cacheTime: 0 });
  await until(async () => {
    const { rows } = await pool.query<{ block_number: bigint }>("SELECT block_number FROM nft.heads");
    return (rows[0]?.block_number ?? -1n) >= head;
  }, `block ${head}`);
}

export async function until(condition: () => Promise<boolean>, what: string, withinMs = 240_000): Promise<void> {
  await wait(what, condition, { withinMs });
}

export async function isRunning(pid: number): Promise<boolean> {
  try {
    return !/^State:\s+Z/m.test(await readFile(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function childOf(parent: number): Promise<number> {
  for (const entry of await readdir("/proc")) {
    if (!/^\d+$/.test(entry)) continue;
    const status = await readFile(`/proc/${entry}/status`, "utf8").catch(() => "");
    if (status.includes(`\nPPid:\t${parent}\n`)) return Number(entry);
  }
  throw new Error(`process ${parent} has no child`);
}

/** A process that is not ready in time is killed, so that the test fails with what it wrote. */
async function untilReady(child: ChildProcess, name: string, words = () => ""): Promise<void> {
  const late = setTimeout(() => child.kill("SIGKILL"), 240_000 * slowness);
  await new Promise<void>((done, failed) => {
    child.once("exit", (code) => failed(new Error(`${name} ended with ${code} before it was ready: ${words()}`)));
    child.on("message", (message) => {
      if (typeof message === "object" && message !== null && "type" in message && message.type === "ready") done();
    });
  }).finally(() => clearTimeout(late));
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.kill(signal);
  await exited;
}
