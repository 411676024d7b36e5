import { type Address, type Hash, type Hex, parseEther, toHex } from "viem";
import { generatePrivateKey, type PrivateKeyAccount, privateKeyToAccount } from "viem/accounts";
import { type BenchStack, inParallel, percentiles, round } from "./bench-stack.ts";

/** A program that signs and sends from memory without guarantees: no row, no check, no retry, no replacement. */
export class PlainLoop {
  readonly #stack: BenchStack;
  readonly #account: PrivateKeyAccount;
  #nonce = 0;
  #turn: Promise<unknown> = Promise.resolve();

  private constructor(stack: BenchStack, account: PrivateKeyAccount) {
    this.#stack = stack;
    this.#account = account;
  }

  /** With a wallet of its own, funded by the node. */
  static async start(stack: BenchStack): Promise<PlainLoop> {
    const account = privateKeyToAccount(generatePrivateKey());
    await stack.rpc("hardhat_setBalance", [account.address, toHex(parseEther("10000"))]);
    return new PlainLoop(stack, account);
  }

  get address(): Address {
    return this.#account.address;
  }

  async send(call: { to?: Address; data: Hex; gas: bigint }): Promise<Hash> {
    const nonce = this.#nonce;
    this.#nonce += 1;
    const raw = await this.#account.signTransaction({
      ...{ chainId: this.#stack.ready.chainId, type: "eip1559", nonce, ...call },
      ...{ maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n },
    });
    // A development node refuses a nonce that arrives too early.
    const sent = this.#turn.then(() => this.#stack.rpc<Hash>("eth_sendRawTransaction", [raw]));
    this.#turn = sent;
    return await sent;
  }

  /** Sends so many calls, some concurrently, and waits until each is in a block. */
  async measure(count: number, concurrent: number, callOf: (index: number) => { to: Address; data: Hex; gas: bigint }) {
    const times: number[] = [];
    const hashes: Hash[] = [];
    const begun = performance.now();
    await inParallel(0, count, concurrent, async (index) => {
      const sent = performance.now();
      hashes.push(await this.send(callOf(index)));
      times.push(performance.now() - sent);
    });
    const answered = (performance.now() - begun) / 1000;
    await untilMined(this.#stack, this.address, this.#nonce);
    const mined = (performance.now() - begun) / 1000;
    return {
      ms: percentiles(times),
      perSecond: round(count / answered),
      minedPerSecond: round(count / mined),
      ...(await gasOf(this.#stack, hashes)),
    };
  }
}

/** Waits until so many of a wallet's transactions are in blocks. */
export async function untilMined(stack: BenchStack, wallet: string, count: number): Promise<void> {
  while (Number(await stack.rpc<string>("eth_getTransactionCount", [wallet, "latest"])) < count)
    await new Promise((done) => setTimeout(done, 50));
}

/** Mean gas of mined transactions. */
export async function gasOf(stack: BenchStack, hashes: readonly Hash[]): Promise<{ gas: number; reverted: number }> {
  let gas = 0n;
  let reverted = 0;
  for (const hash of hashes) {
    const receipt = await stack.rpc<{ gasUsed: Hex; status: Hex }>("eth_getTransactionReceipt", [hash]);
    gas += BigInt(receipt.gasUsed);
    if (receipt.status !== "0x1") reverted += 1;
  }
  return { gas: Math.round(Number(gas) / Math.max(1, hashes.length)), reverted };
}
