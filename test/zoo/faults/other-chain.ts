import type { ReadFault } from "../fault.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "a node of another chain",
  source: "ethereum-lists/chains#8635",
  hits: "all",
  play:
    () =>
    ({ calls }) => ({
      answers: calls.map(({ method }) => ({
        result:
          method === "eth_chainId"
            ? "0x1"
            : method === "eth_blockNumber"
              ? "0x1312d00"
              : method === "eth_getLogs"
                ? []
                : null,
      })),
    }),
  ends: {
    proofs: /serves chain id 1.*correct RPC_URL_GOERLI or CHAIN_ID_GOERLI/,
    logs: /serves chain id 1.*correct RPC_URL_GOERLI or CHAIN_ID_GOERLI/,
  },
};
