import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { createTestClient, type Hex, http, publicActions, walletActions } from "viem";
import { mnemonicToAccount } from "viem/accounts";
import { foundry } from "viem/chains";
import { freePorts } from "../../src/free-port.ts";
import { compileSolidity } from "../../test/setup/compile.ts";

/**
 * Emits the logs of a busy ERC-721 contract: one mint, then one sale of a random existing token, among some 30,000
 * wallets. It counts the sales of each token, so that every sender is the owner.
 */
const source = `// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;
contract Crowd {
  event Transfer(address indexed from, address indexed to, uint256 indexed tokenId);
  uint256 public minted;
  mapping(uint256 => uint256) sales;
  function holder(uint256 id, uint256 turn) public pure returns (address) {
    return address(uint160(uint256(keccak256(abi.encode(uint256(keccak256(abi.encode(id, turn))) % 30000)))));
  }
  function run(uint256 count) external {
    uint256 id = minted;
    for (uint256 i = 0; i < count; i += 2) {
      emit Transfer(address(0), holder(id, 0), id);
      uint256 sold = uint256(keccak256(abi.encode(address(this), id))) % (id + 1);
      uint256 turn = sales[sold]++;
      emit Transfer(holder(sold, turn), holder(sold, turn + 1), sold);
      id++;
    }
    minted = id;
  }
}`;

const contracts = 10;
const eventsPerBlock = 500;

/** A development chain with ten busy contracts. */
export class CrowdChain {
  readonly url: string;
  readonly chainId = 31337;
  readonly #child: ChildProcess;
  readonly #client;
  readonly #abi;
  #addresses: Hex[] = [];

  private constructor(url: string, child: ChildProcess) {
    this.url = url;
    this.#child = child;
    const account = mnemonicToAccount("test test test test test test test test test test test junk");
    this.#client = createTestClient({
      mode: "anvil",
      chain: foundry,
      transport: http(url),
      account,
      pollingInterval: 5,
    })
      .extend(publicActions)
      .extend(walletActions);
    this.#abi = CrowdChain.compiled().abi;
  }

  static compiled() {
    const { Crowd } = compileSolidity(source);
    if (!Crowd) throw new Error("the contract was not compiled");
    return Crowd;
  }

  static async start(): Promise<CrowdChain> {
    const [port = 0] = await freePorts(1);
    const anvil = join(import.meta.dirname, "../../node_modules/.bin/anvil");
    const args = ["--port", String(port), "--silent", "--gas-limit", "1000000000"];
    const child = spawn(anvil, args, { stdio: "ignore" });
    const chain = new CrowdChain(`http://127.0.0.1:${port}`, child);
    await chain.#untilUp();
    for (let i = 0; i < contracts; i++) chain.#addresses.push(await chain.#deploy());
    return chain;
  }

  async #untilUp(): Promise<void> {
    for (let left = 200; ; left--) {
      try {
        await this.#client.getBlockNumber();
        return;
      } catch (error) {
        if (left === 0) throw error;
        await new Promise((done) => setTimeout(done, 50));
      }
    }
  }

  async #deploy(): Promise<Hex> {
    const hash = await this.#client.deployContract(CrowdChain.compiled());
    const { contractAddress } = await this.#receipt(hash);
    if (!contractAddress) throw new Error("no contract was created");
    return contractAddress;
  }

  /** Polls for the receipt: viem's own wait needs a further block if the first came between two of its polls. */
  async #receipt(hash: Hex) {
    for (let left = 10_000; ; left--) {
      try {
        return await this.#client.getTransactionReceipt({ hash });
      } catch (error) {
        if (left === 0) throw error;
        await new Promise((done) => setTimeout(done, 5));
      }
    }
  }

  /** Emits so many transfers, 500 per block, and then enough empty blocks to finalize them. */
  async addTransfers(count: number): Promise<void> {
    for (let done = 0, turn = 0; done < count; done += eventsPerBlock, turn++) await this.run(turn, eventsPerBlock);
    await this.#client.mine({ blocks: 80 });
  }

  /** One block with so many transfers of one contract. */
  async run(turn: number, count: number): Promise<void> {
    const address = this.#addresses[turn % contracts] ?? "0x";
    const args = [BigInt(count)];
    const hash = await this.#client.writeContract({
      address,
      abi: this.#abi,
      functionName: "run",
      args,
      gas: 100_000_000n,
      gasPrice: 10n ** 12n,
    });
    const { status } = await this.#receipt(hash);
    if (status !== "success") throw new Error("the node refused a block of transfers");
  }

  stop(): void {
    // The package's wrapper forwards this signal to the node; SIGKILL would leave the node running.
    this.#child.kill("SIGTERM");
  }
}
