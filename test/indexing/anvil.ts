import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Abi, encodeDeployData, encodeFunctionData, type Hex } from "viem";
import { freePorts } from "../../src/free-port.ts";
import type { CompiledContract } from "../setup/compile.ts";
import { wait } from "../setup/wait.ts";

export type Anvil = Awaited<ReturnType<typeof startAnvil>>;

/**
 * Foundry's node: fast, unlocked accounts, and it can replace its last blocks by others.
 *
 * @param states that it remembers, all in memory. Left to itself a node had no code at its contracts any more after
 *   some 200 replacements, probably since states of replaced blocks are counted too.
 */
export async function startAnvil(chainId = 31337, states?: number) {
  const [port = 0] = await freePorts(1);
  const args = ["--port", String(port), "--chain-id", String(chainId), "--silent", "--gas-limit", "2000000000"];
  if (states) args.push("--prune-history", String(states));
  const child = spawn(
    "node_modules/.bin/anvil",
    [...args, "--accounts", "10", "--balance", "100000000", "--no-mining", "--order", "fifo"],
    { stdio: "ignore" },
  );
  const url = `http://127.0.0.1:${port}`;
  const rpc = async <T = unknown>(method: string, params: unknown[] = []): Promise<T> => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
    const response = await fetch(url, { method: "POST", headers: { "content-type": "application/json" }, body });
    const { result, error } = (await response.json()) as { result: T; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
  await wait("the start of anvil", () => rpc("eth_chainId").catch(() => null));
  const accounts = await rpc<Hex[]>("eth_accounts");
  const account = (index: number) => accounts[index % accounts.length] ?? "0x";
  const send = (to: Hex | undefined, data: Hex, from = 0, gas = 60_000_000) =>
    rpc<Hex>("eth_sendTransaction", [
      { from: account(from), ...(to ? { to } : {}), data, gas: `0x${gas.toString(16)}` },
    ]);
  return {
    url,
    rpc,
    accounts,
    account,
    send,
    mine: () => rpc("evm_mine"),
    head: async () => BigInt(await rpc<Hex>("eth_blockNumber")),
    call: ({ address, abi }: { address: Hex; abi: Abi }, functionName: string, args: readonly unknown[], from = 0) =>
      send(address, encodeFunctionData({ abi, functionName, args }), from),
    /** Deploys in a block of its own. */
    deploy: async ({ abi, bytecode }: CompiledContract, args: readonly unknown[] = []) => {
      const hash = await send(undefined, encodeDeployData({ abi, bytecode, args }));
      await rpc("evm_mine");
      const receipt = await rpc<{ contractAddress: Hex; status: Hex }>("eth_getTransactionReceipt", [hash]);
      if (receipt.status !== "0x1") throw new Error("the contract was not created");
      return { address: receipt.contractAddress, abi };
    },
    stop: async () => {
      if (child.exitCode !== null) return;
      const ended = once(child, "exit");
      child.kill("SIGTERM");
      await ended;
    },
  };
}
