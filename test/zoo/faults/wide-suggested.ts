import type { ReadFault } from "../fault.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a range too wide, with a suggested one, and no other endpoint",
  source: "boundless-xyz/boundless#838",
  hits: ["eth_getLogs"],
  play: () => {
    return async ({ calls, honest }) => {
      const [{ fromBlock, toBlock } = {}] = (calls[0]?.params ?? []) as { fromBlock?: string; toBlock?: string }[];
      if (Number(toBlock) - Number(fromBlock) < 10) return { answers: await honest(calls) };
      const works = `[${fromBlock}, 0x${(Number(fromBlock) + 9).toString(16)}]`;
      const message = `You can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: ${works}`;
      return { status: 400, answers: [{ error: { code: -32_600, message } }] };
    };
  },
  alone: true,
  ends: { logs: "right" },
};
