import type { Asking } from "./endpoint-list.ts";
import type { RpcAnswer, UnusableAnswer } from "./json-rpc.ts";
import type { RpcUpstreams } from "./rpc-upstreams.ts";
import { rangeOf } from "./upstream.ts";

/** How long other endpoints may take to give a better result: Ponder gives up a request after ten seconds. */
const othersMs = 2_000;
/** Both answers to an empty range must come within this time; otherwise Ponder is asked for a narrower one at once. */
const withinMs = 8_500;

/**
 * Asks for a result without objections. A doubtful one is used where no other endpoint has a better one soon.
 *
 * @param doubt returns the objection to a result that passed `check`, or null. `Absent` is no fault of the endpoint.
 * @returns the answer, and the endpoint's index in the list.
 */
export async function askUndoubted(
  upstreams: RpcUpstreams,
  method: string,
  params: unknown,
  { check, signal }: Asking,
  doubt: (result: unknown, endpoint: number) => UnusableAnswer | null,
): Promise<{ answer: RpcAnswer; endpoint: number }> {
  const enough = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const doubtful = new Map<number, unknown>();
  let endpoint = -1;
  const checkAll = (result: unknown, by: number) => {
    check?.(result, by);
    const reason = doubt(result, by);
    endpoint = by;
    if (!reason) return;
    // All others have been asked since.
    if (doubtful.has(by)) enough.abort(reason);
    else doubtful.set(by, result);
    timer ??= setTimeout(() => enough.abort(reason), othersMs);
    throw reason;
  };
  const either = signal ? AbortSignal.any([signal, enough.signal]) : enough.signal;
  try {
    const answer = await upstreams.request(method, params, { check: checkAll, signal: either });
    if (doubtful.size === 0 || (!answer.error && answer.result !== null)) return { answer, endpoint };
  } catch (error) {
    if (doubtful.size === 0 || signal?.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  const [[first, result] = [-1, null]] = doubtful;
  return { answer: { result }, endpoint: first };
}

/**
 * Asks for the logs of a range. An empty list names no block, so nothing in it can be checked: with several endpoints,
 * a second one has to confirm it.
 *
 * @throws UnusableAnswer as `request` does, and while another endpoint may soon answer whether the range is empty.
 */
export async function askRange(
  upstreams: RpcUpstreams,
  params: unknown,
  { check, signal }: Asking,
): Promise<RpcAnswer> {
  const deadline = AbortSignal.timeout(withinMs);
  let endpoint = -1;
  const noteEndpoint = (logs: unknown, by: number) => {
    check?.(logs, by);
    endpoint = by;
  };
  const answer = await upstreams.request("eth_getLogs", params, { check: noteEndpoint, signal });
  const range = rangeOf(params);
  if (answer.error || range === null || (answer.result as unknown[]).length > 0) return answer;
  const asking = { check, signal, deadline };
  const logs = (await upstreams.rangeByAnother(params, range, endpoint, asking)) as unknown[] | null;
  if (!logs || logs.length === 0) return answer;
  upstreams.setAside(endpoint, "it has no logs where another endpoint has some");
  return { result: logs };
}
