import { createPublicClient, fallback, hexToBigInt, http, parseAbiItem } from "viem";
import { hardhat } from "viem/chains";
import type { Question } from "./fault.ts";
import { compare, type Outcome } from "./outcome.ts";
import { type Log, type Tokens, transferOf, transferTopic } from "./tokens.ts";

const event = parseAbiItem("event Transfer(address indexed from, address indexed to, uint256 indexed tokenId)");

/** viem with its defaults: a `fallback` of `http` transports. */
export async function askViem(urls: readonly string[], question: Question, tokens: Tokens): Promise<Outcome> {
  const client = createPublicClient({ chain: hardhat, transport: fallback(urls.map((url) => http(url))) });
  const { block, transfers } = tokens.busy;
  switch (question) {
    case "logs": {
      const range = { fromBlock: hexToBigInt(tokens.fromBlock), toBlock: hexToBigInt(tokens.toBlock) };
      const logs = await client.getLogs({ address: tokens.address, event, ...range });
      return compare(
        logs.map((log) => transferOf(log as never)),
        tokens.transfers,
      );
    }
    case "block": {
      const found = await client.getBlock({ blockNumber: hexToBigInt(block.number), includeTransactions: true });
      const hashes = found.transactions.map(({ hash }) => hash);
      const isRight = found.hash === block.hash && hashes.join() === block.transactions.map(({ hash }) => hash).join();
      return isRight ? { end: "right" } : { end: "wrong", what: "another block" };
    }
    case "receipts": {
      const receipts = (await client.request({
        method: "eth_getBlockReceipts",
        params: [block.hash],
      } as never)) as { logs: Log[] }[] | null;
      const logs = (receipts ?? []).flatMap((receipt) => receipt.logs);
      const asked = logs.filter(({ address, topics }) => address === tokens.address && topics[0] === transferTopic);
      return compare(asked.map(transferOf), transfers);
    }
    case "head": {
      const first = await client.getBlock();
      const second = await client.getBlock();
      return second.number >= first.number
        ? { end: "right" }
        : { end: "wrong", what: `the head went back by ${first.number - second.number} blocks` };
    }
  }
}
