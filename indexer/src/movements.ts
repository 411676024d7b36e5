import type { Bytea } from "../../schema/bytea-column.ts";
import { maxTokensPerLog } from "../../schema/marked-logs.ts";
import { dataArray, dataWord, type RawLog, topicAddress, topicWord, Undecodable } from "./raw-log.ts";

/** One token that moved, as the log says it; of ERC-2309 the range. */
export interface Movement {
  tokenId: bigint;
  fromAddress: Bytea;
  toAddress: Bytea;
  operator: Bytea | null;
  amount: bigint;
  standard: "ERC721" | "ERC1155";
}

export function decodeTransfer(log: RawLog): Movement[] {
  const parties = { fromAddress: topicAddress(log, 1), toAddress: topicAddress(log, 2) };
  return [{ ...parties, tokenId: topicWord(log, 3), operator: null, amount: 1n, standard: "ERC721" }];
}

export function decodeTransferSingle(log: RawLog): Movement[] {
  return [{ ...parties1155(log), tokenId: dataWord(log, 0), amount: dataWord(log, 1) }];
}

export function decodeTransferBatch(log: RawLog): Movement[] {
  const parties = parties1155(log);
  const ids = dataArray(log, 0, maxTokensPerLog);
  const amounts = dataArray(log, 1, maxTokensPerLog);
  if (ids.length !== amounts.length) throw new Undecodable(`${ids.length} ids with ${amounts.length} values`);
  return ids.map((tokenId, index) => ({ ...parties, tokenId, amount: amounts[index] ?? 0n }));
}

/** The range's first token, with the number of its tokens as amount. */
export function decodeConsecutiveTransfer(log: RawLog): Movement {
  const parties = { fromAddress: topicAddress(log, 2), toAddress: topicAddress(log, 3) };
  const tokenId = topicWord(log, 1);
  const last = dataWord(log, 0);
  const amount = last - tokenId + 1n;
  if (amount < 1n || amount > BigInt(maxTokensPerLog))
    throw new Undecodable(`token ids ${tokenId} to ${last}: 1 to ${maxTokensPerLog} can be expanded`);
  return { ...parties, tokenId, operator: null, amount, standard: "ERC721" };
}

function parties1155(log: RawLog) {
  return {
    operator: topicAddress(log, 1),
    fromAddress: topicAddress(log, 2),
    toAddress: topicAddress(log, 3),
    standard: "ERC1155",
  } as const;
}
