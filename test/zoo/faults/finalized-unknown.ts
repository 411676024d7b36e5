import type { WriteFault } from "../fault.ts";

export const fault: WriteFault = {
  kind: "write",
  name: 'no block "finalized", -32603, and no other endpoint',
  source: "iotexproject/iotex-core#4942",
  hits: ["eth_getBlockByNumber"],
  play: () => async (asked) => {
    const answers = await asked.honest(asked.calls);
    const error = { code: -32_603, message: 'strconv.ParseUint: parsing "finalized": invalid syntax' };
    return { answers: answers.map((one, index) => (asked.calls[index]?.params[0] === "finalized" ? { error } : one)) };
  },
  alone: true,
  end: "one",
};
