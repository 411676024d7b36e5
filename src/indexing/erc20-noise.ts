/** `Transfer(address,address,uint256)`: ERC-721 with four topics, ERC-20 with three. */
const transferTopic = "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

interface LogLike {
  topics: readonly unknown[];
}

/**
 * Lets the node leave out ERC-20 transfers itself: a `null` instead of a topic matches anything, but
 * the log must have a topic there.
 */
export function askForNftTransfers(params: unknown): unknown {
  const [filter, ...rest] = Array.isArray(params) ? (params as unknown[]) : [];
  if (typeof filter !== "object" || filter === null) return params;
  const topics: unknown = "topics" in filter ? filter.topics : undefined;
  if (!Array.isArray(topics) || topics.length >= 4 || !onlyTransfers(topics[0])) return params;
  const padded = [...(topics as unknown[]), null, null, null].slice(0, 4);
  return [{ ...filter, topics: padded }, ...rest];
}

function onlyTransfers(topic: unknown): boolean {
  const wanted: unknown[] = Array.isArray(topic) ? topic : [topic];
  return wanted.length > 0 && wanted.every((one) => typeof one === "string" && one.toLowerCase() === transferTopic);
}

/**
 * Drops the Transfer logs that are not of NFTs.
 *
 * @param params of the `eth_getLogs` request. An answer for one block keeps one log although it is
 *   noise: Ponder refuses an empty list for a block whose bloom is not empty, and skips the log later.
 */
export function dropErc20Transfers(params: unknown, result: unknown): unknown {
  if (!Array.isArray(result)) return result;
  const kept = result.filter((log: unknown) => !isErc20Transfer(log));
  const [filter] = Array.isArray(params) ? (params as unknown[]) : [];
  const ofOneBlock = typeof filter === "object" && filter !== null && "blockHash" in filter;
  return ofOneBlock && kept.length === 0 ? result.slice(0, 1) : kept;
}

export function isErc20Transfer(log: unknown): boolean {
  const { topics } = (log ?? {}) as Partial<LogLike>;
  return Array.isArray(topics) && String(topics[0]).toLowerCase() === transferTopic && topics.length !== 4;
}
