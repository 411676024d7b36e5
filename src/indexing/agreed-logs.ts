import type { Header } from "./header.ts";
import { Refused } from "./json-rpc.ts";
import { checkLogs, type RpcLog } from "./proven-logs.ts";
import type { RpcUpstreams } from "./rpc-upstreams.ts";

/** One list of a block's logs, and who gave it. */
export interface Said {
  logs: RpcLog[];
  hosts: string[];
}

/**
 * Asks one endpoint after the other for all logs of a block, until two have said the same.
 *
 * @returns the lists, the one that most gave first; none when no endpoint answers.
 */
export async function askForLogs(
  upstreams: RpcUpstreams,
  header: Header,
  signal: AbortSignal | undefined,
): Promise<Said[]> {
  const filter = { blockHash: header.hash };
  const check = (logs: unknown) => checkLogs(logs, filter, true);
  const lists = new Map<string, Said>();
  for await (const { host, result } of upstreams.each("eth_getLogs", [filter], { check, signal })) {
    const logs = result as RpcLog[];
    const list = lists.get(textOf(logs)) ?? { logs, hosts: [] };
    lists.set(textOf(logs), list);
    list.hosts.push(host);
    if (list.hosts.length === 2) break;
  }
  return [...lists.values()].sort((a, b) => b.hosts.length - a.hosts.length);
}

/**
 * All logs of a block where nothing in its header tells them: those that two endpoints give, or the only one that answers.
 *
 * @throws Refused while they disagree: one of them has a hole, or invents.
 */
export async function fetchAgreedLogs(
  upstreams: RpcUpstreams,
  header: Header,
  signal: AbortSignal | undefined,
): Promise<RpcLog[]> {
  const [first, second] = await askForLogs(upstreams, header, signal);
  if (!first) throw new Refused(`no endpoint gives the logs of block ${header.number}`);
  if (second && first.hosts.length < 2) throw disagreement(upstreams, header, [first, second]);
  return first.logs;
}

export function disagreement({ name }: RpcUpstreams, { number }: Header, lists: readonly Said[]): Refused {
  const who = lists.map(({ logs, hosts }) => `${hosts.join(", ")}: ${logs.length}`).join("; ");
  return new Refused(
    `the endpoints have different logs of block ${number} (${who}), and nothing in its header tells which is right; they are asked again. Where it lasts, name another endpoint in RPC_URL_${name.toUpperCase()}`,
  );
}

/** Of two lists that are the same: nodes differ in letter case and in what they add. */
export function textOf(logs: readonly RpcLog[]): string {
  const fields = logs.map(({ address, topics, data, logIndex, transactionHash, transactionIndex }) => [
    ...[address, ...topics, data, transactionHash].map((value) => value.toLowerCase()),
    Number(logIndex),
    Number(transactionIndex),
  ]);
  return JSON.stringify(fields);
}
