import type { Hash } from "viem";
import { classOf, isCallRefusal, isReverted } from "../../rpc/answers.ts";
import type { RpcCall, RpcResult } from "../../rpc/batch.ts";
import { type ByHash, calls, parseBlockOrNull } from "./reads.ts";

type Ask = (asked: readonly RpcCall[]) => Promise<RpcResult[]>;

/**
 * Calls at a block's hash (EIP-1898) through an endpoint that runs them by number alone: at the block's number, and beside it the
 * hash of that number is read, so that an answer from a sibling block is none.
 */
export function withCallsByHash(ask: Ask): Ask {
  return async (asked) => {
    const results = await ask(asked);
    const late = asked.flatMap((call, at) => {
      const hash = hashOf(call);
      return hash && isNotRun(results[at]) ? [{ at, call, hash }] : [];
    });
    if (late.length === 0) return results;
    const hashes = [...new Set(late.map(({ hash }) => hash))];
    const blocks = await ask(hashes.map((hash) => ({ method: "eth_getBlockByHash", params: [hash, false] })));
    const numbers = new Map(hashes.map((hash, at) => [hash, parseBlockOrNull(blocks[at])?.number] as const));
    const known = late.flatMap((one) => {
      const number = numbers.get(one.hash);
      return number === undefined ? [] : [{ ...one, number }];
    });
    const answers = await ask([
      ...known.map(({ call, number }) => ({ ...call, params: [call.params[0], `0x${number.toString(16)}`] })),
      ...known.map(({ number }) => calls.block(number)),
    ]);
    for (const [index, { at, hash }] of known.entries()) {
      const answer = answers[index];
      const isSame = parseBlockOrNull(answers[known.length + index])?.hash === hash;
      results[at] = answer && isSame ? answer : { error: { code: -32_001, message: "block not found" } };
    }
    return results;
  };
}

function hashOf({ method, params }: RpcCall): Hash | null {
  return method === "eth_call" ? ((params[1] as Partial<ByHash> | undefined)?.blockHash ?? null) : null;
}

/** What the endpoint says is of the form of the question: neither the contract's word nor that it lacks the block. */
function isNotRun(result: RpcResult | undefined): boolean {
  if (!result || !("error" in result) || isReverted(result.error) || isCallRefusal(result.error.message)) return false;
  return result.error.code === -32_602 || classOf(result.error, "eth_call") === "unsupported";
}
