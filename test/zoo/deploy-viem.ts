import { createPublicClient, createWalletClient, fallback, http, parseEther, toHex } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { hardhat } from "viem/chains";
import type { HonestNode } from "./honest-node.ts";
import type { Outcome } from "./outcome.ts";
import { wordsOf } from "./outcome.ts";
import { deployTokens } from "./tokens.ts";

/** viem's wallet client over a `fallback` of `http` transports sends one deployment and waits for its receipt. */
export async function deployViem(urls: readonly string[], node: HonestNode): Promise<Outcome> {
  const account = privateKeyToAccount(generatePrivateKey());
  await node.result("hardhat_setBalance", [account.address, toHex(parseEther("100"))]);
  const transport = fallback(urls.map((url) => http(url)));
  const wallet = createWalletClient({ account, chain: hardhat, transport });
  const client = createPublicClient({ chain: hardhat, transport, pollingInterval: 200 });
  const made = async () => Number(await node.result<string>("eth_getTransactionCount", [account.address, "latest"]));
  try {
    const hash = await wallet.sendTransaction({ data: deployTokens() });
    const receipt = await client.waitForTransactionReceipt({ hash, timeout: 50_000 });
    const count = await made();
    if (receipt.status === "success" && receipt.contractAddress && count === 1) return { end: "right" };
    return { end: "wrong", what: `${count} transactions, and a receipt of "${receipt.status}"` };
  } catch (error) {
    const count = await made();
    const words = wordsOf(error);
    // Whoever sends again what is said to have failed has two.
    return { end: "error", words: count > 0 ? `${words} (${count} was mined all the same)` : words };
  }
}
