import { askForLogs, disagreement, fetchAgreedLogs } from "./agreed-logs.ts";
import { askUndoubted } from "./ask-undoubted.ts";
import type { Blooms } from "./blooms.ts";
import type { Header } from "./header.ts";
import { Refused, type RpcAnswer } from "./json-rpc.ts";
import type { LogPlaces } from "./log-places.ts";
import { checkLogs, type LogFilter, matches, type RpcLog } from "./proven-logs.ts";
import type { RpcUpstreams } from "./rpc-upstreams.ts";

interface Asked {
  filter: LogFilter;
  params: unknown;
  /** Of the block, where it is known. */
  header: Header | undefined;
  /** What is known of its transactions. */
  places: LogPlaces;
}

/** Logs of one block without proof, as far as its bloom filter tells that they are all. */
export async function askForBlock(
  upstreams: RpcUpstreams,
  blooms: Blooms,
  { filter, params, header, places }: Asked,
  signal: AbortSignal | undefined,
): Promise<RpcAnswer> {
  if (header && !blooms.tells(header)) {
    const logs = await fetchAgreedLogs(upstreams, header, signal);
    if (blooms.lacks(header, logs)) throw new Refused("logs of the block are missing");
    return { result: logs.filter((log) => matches(log, filter)) };
  }
  const isWhole = header !== undefined && !filter.topics && !filter.address;
  const check = (logs: unknown) => {
    checkLogs(logs, filter, isWhole);
    if (header && isWhole && logs.length === 0 && BigInt(header.logsBloom) !== 0n)
      throw new Refused("logs of the block are missing");
  };
  const doubt = (logs: unknown, endpoint: number) => places.doubt(logs as RpcLog[], endpoint);
  const { answer } = await askUndoubted(upstreams, "eth_getLogs", params, { check, signal }, doubt);
  if (answer.error || !header || blooms.agrees(header, answer.result as RpcLog[])) return answer;
  const logs = await logsBesideBloom(upstreams, blooms, header, signal);
  return { result: logs.filter((log) => matches(log, filter)) };
}

/** An endpoint gave logs that the filter of their block does not hold: either it or the filter is wrong. */
async function logsBesideBloom(
  upstreams: RpcUpstreams,
  blooms: Blooms,
  header: Header,
  signal: AbortSignal | undefined,
): Promise<RpcLog[]> {
  const lists = await askForLogs(upstreams, header, signal);
  const [first, second] = lists;
  if (!first) throw new Refused(`no endpoint gives the logs of block ${header.number}`);
  if (second && first.hosts.length < 2) {
    // A chain that uses its filters tells by them who is wrong.
    const right = lists.filter(({ logs }) => blooms.agrees(header, logs) && !blooms.lacks(header, logs));
    if (blooms.areSeenSet && right.length === 1 && right[0]) return right[0].logs;
    throw disagreement(upstreams, header, lists);
  }
  if (!blooms.agrees(header, first.logs)) {
    // One endpoint's word does not end the use of filters that the chain has shown to use.
    if (blooms.areSeenSet && first.hosts.length < 2) throw new Refused("a log is not in the block's bloom filter");
    blooms.giveUp(`${first.hosts.join(" and ")} gave logs of block ${header.number} that it does not hold`);
  }
  return first.logs;
}

/**
 * All logs of a block by another endpoint than the one that is asked first, where there is one.
 *
 * @returns null when none answers.
 */
export async function askAnother(upstreams: RpcUpstreams, number: bigint): Promise<RpcLog[] | null> {
  const hex = `0x${number.toString(16)}`;
  const filter = { fromBlock: hex, toBlock: hex };
  const check = (logs: unknown) => checkLogs(logs, filter, true);
  const checkReceipts = (receipts: unknown) => check(logsIn(receipts));
  for await (const { result } of upstreams.each("eth_getBlockReceipts", [hex], { check: checkReceipts }, true))
    return logsIn(result) as RpcLog[];
  for await (const { result } of upstreams.each("eth_getLogs", [filter], { check }, true)) return result as RpcLog[];
  return null;
}

function logsIn(receipts: unknown): unknown {
  if (!Array.isArray(receipts)) throw new Refused("receipts are missing");
  return (receipts as ({ logs?: unknown[] } | null)[]).flatMap((receipt) => receipt?.logs ?? [null]);
}
