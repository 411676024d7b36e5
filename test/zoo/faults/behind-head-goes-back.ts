import type { Call, ReadFault } from "../fault.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "head",
  name: "behind a balancer: each second head is an old one",
  source: "INFURA/infura#41",
  hits: ["eth_getBlockByNumber"],
  play:
    () =>
    async ({ calls, honest, before }) => {
      const old = async (call: Call) => {
        const [head] = await honest([{ ...call, method: "eth_blockNumber", params: [] }]);
        const number = Number(head?.result) - 9;
        return { ...call, params: [`0x${number.toString(16)}`, ...call.params.slice(1)] };
      };
      const isOld = before % 2 === 1;
      const asked = calls.map((call) => (isOld && call.params[0] === "latest" ? old(call) : call));
      return { answers: await honest(await Promise.all(asked)) };
    },
  ends: { proofs: "right", logs: "right" },
};
