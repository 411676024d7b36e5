import type { ReadFault } from "../fault.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "nothing is said to wide ranges of logs",
  source: "ethereum/go-ethereum#20426",
  hits: ["eth_getLogs"],
  play: () => (asked) => {
    const [filter] = (asked.calls[0]?.params ?? []) as { fromBlock?: string; toBlock?: string }[];
    return Number(filter?.toBlock) - Number(filter?.fromBlock) > 20 ? "hang" : "honest";
  },
  alone: true,
  ends: { logs: "right" },
};
