import type { ReadFault } from "../fault.ts";

/** Its newest block is eight behind; it answers for the blocks that it has, and says nothing of the others. */
const lag = 8;

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "behind: logs of the blocks that it has, without a word",
  source: "ethereum/go-ethereum#24078",
  hits: ["eth_getLogs", "eth_blockNumber"],
  play: () => async (asked) => {
    const answers = await asked.honest(asked.calls);
    const [head] = await asked.honest([{ id: 0, method: "eth_blockNumber", params: [] }]);
    const newest = Number(head?.result) - lag;
    return {
      answers: answers.map((answer, index) => {
        if (asked.calls[index]?.method === "eth_blockNumber") return { result: `0x${newest.toString(16)}` };
        const logs = answer.result as { blockNumber: string }[] | undefined;
        return logs ? { result: logs.filter(({ blockNumber }) => Number(blockNumber) <= newest) } : answer;
      }),
    };
  },
  ends: { logs: "right" },
};
