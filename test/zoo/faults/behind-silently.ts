import type { ReadFault } from "../fault.ts";
import { edits } from "../plays.ts";

/** Its newest block is eight behind; it answers for the blocks that it has, and says nothing of the others. */
const lag = 8;

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "behind: logs of the blocks that it has, without a word",
  source: "ethereum/go-ethereum#24078",
  hits: ["eth_getLogs", "eth_blockNumber"],
  play: edits((result: unknown, { method, params }) => {
    const { toBlock } = (params[0] ?? {}) as { toBlock?: string };
    if (method === "eth_blockNumber") return `0x${(Number(result) - lag).toString(16)}`;
    return (result as { blockNumber: string }[]).filter(
      ({ blockNumber }) => Number(blockNumber) <= Number(toBlock) - lag,
    );
  }),
  ends: { logs: "right" },
};
