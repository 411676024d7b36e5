import { type RpcAnswer, UnusableAnswer } from "./json-rpc.ts";
import type { Asking, RpcUpstreams } from "./rpc-upstreams.ts";

/**
 * Asks for a result that nothing is said against, and takes a doubtful one where no endpoint has a better one.
 *
 * @param doubt says what is said against a result that `check` lets pass; null for nothing. `Absent` is no fault of its endpoint.
 */
export async function askUndoubted(
  upstreams: RpcUpstreams,
  method: string,
  params: unknown,
  { check, signal }: Asking & Required<Pick<Asking, "check">>,
  doubt: (result: unknown, endpoint: number) => UnusableAnswer | null,
): Promise<RpcAnswer> {
  let isDoubted = false;
  const checkAll = (result: unknown, endpoint: number) => {
    check?.(result, endpoint);
    const reason = doubt(result, endpoint);
    if (!reason) return;
    isDoubted = true;
    throw reason;
  };
  const answer = await upstreams.request(method, params, { check: checkAll, signal }).catch((error: unknown) => {
    if (!isDoubted || !(error instanceof UnusableAnswer)) throw error;
    return { result: null };
  });
  if (!isDoubted || answer.result !== null) return answer;
  return await upstreams.request(method, params, { check, signal });
}
