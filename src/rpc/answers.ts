/** An error as a node returned it; `data` is that of a revert. */
export interface NodeError {
  code: number;
  message: string;
  data?: unknown;
}

/**
 * The meaning of a node's error, and the reaction to it:
 *
 * | class | reaction |
 * | --- | --- |
 * | `refused` | it is the chain's answer: the caller gets it |
 * | `too_wide`, `too_slow` | another endpoint; if all of them answer so, less is asked at once |
 * | `rate_limited` | another endpoint; this one rests for a moment |
 * | `quota_ended`, `key_refused` | another endpoint; this one rests for long, and its operator has to act |
 * | `not_there_yet`, `pruned`, `unsupported` | another endpoint may have it; if none has, the caller gets the error |
 * | `broken` | another endpoint; this one rests for a moment |
 */
export type AnswerClass =
  | "refused"
  | "too_wide"
  | "too_slow"
  | "rate_limited"
  | "quota_ended"
  | "key_refused"
  | "not_there_yet"
  | "pruned"
  | "unsupported"
  | "broken";

/** What an operator can do about a class, if anything. */
export const advice: Partial<Record<AnswerClass, string>> = {
  quota_ended: "its plan has no requests left: wait, take a larger plan, or add another endpoint",
  key_refused: "it refuses the key or the address of this server: correct its URL",
  rate_limited: "set RPC_RATE_<CHAIN> below what its plan allows, or add another endpoint",
};

/**
 * Matched in this order against the providers' messages. Codes are ambiguous: Infura's -32005 stands for a rate, a
 * quota and a result that is too large. The code counts only where no message matches (`byCode`).
 */
const byWords: readonly [AnswerClass, RegExp][] = [
  [
    "quota_ended",
    /\b(daily|monthly|per.?day|per.?month)\b.*\b(limit|request count|capacity|quota|credits?|exceeded)|capacity limit exceeded|quota|credits? (limit|exhausted|used)|out of (cu|credits)|compute units? (limit|exhausted)|payment required|usage limit|plan limit|request count exceeded/i,
  ],
  // About a state or a method only, in words like those of a refused key.
  [
    "pruned",
    /missing trie node|prun(ed|ing)|(historical|old|archive).*(state|data|node|unavailable|available)|state (is )?not (available|found)|no state available|state already (discarded|pruned)|state histories|history (has been|not|is not|was) .*(available|pruned|expired)|archive (state|data|node)/i,
  ],
  [
    "unsupported",
    /\bmethods? .*\bnot (allowed|available|supported|enabled|whitelisted)|not allowed to access (the |this )?method/i,
  ],
  [
    "key_refused",
    /unauthori[sz]ed|forbidden|(invalid|missing|disabled|wrong|unknown|incorrect|expired) (api|access|project|project id|authentication)? ?-?(key|token|id|credentials?|jwt)|api key.*(not|disabled|invalid|expired)|must be authenticated|authenticate|(project|app).*(not have access|inactive|disabled|not found)|not whitelisted.*(ip|origin|domain)|(ip|origin) .*not (allowed|whitelisted)/i,
  ],
  [
    "too_slow",
    /time(d)? ?-?out|deadline exceeded|took too long|execution aborted|context canceled|query (duration|time)|request (was )?(aborted|cancell?ed)/i,
  ],
  // A range beyond the head is not too wide.
  [
    "not_there_yet",
    /(beyond|ahead of|past|after|higher than|above) (the )?(current |latest |last |chain )*(accepted )?(head|latest|tip|block)|unfinalized data/i,
  ],
  [
    "too_wide",
    /range.*(too (large|wide|big|high)|exceed|limit|greater|supported|larger)|(large|wide|exceeds?).*range|(limited|limit|restricted|smaller|up) to .*(blocks?|range|results|logs)|(more than|exceeds?|over|max(imum)?( of)?|at most) [\d,._]+k? ?(blocks|results|logs|block|entries)|too many (blocks|logs|results)|(response|result|log|query|payload|body|answer)s? (size|is|set|returned|returns)?.*(too (large|big|many)|exceed|greater than|larger)|maximum (allowed )?number of requested blocks|blocks distance|distance.*block|exceed.*max(imum)? results|narrow your filter|smaller (block )?range|maximum is set to|should not greater than|request entity too large|(?<!invalid )block.?range/i,
  ],
  [
    "rate_limited",
    /rate.?limit|too many requests|(requests?|calls?|cups?|compute units?|credits?)( limit)?.{0,20}(\/|per) ?(s\b|sec|second|minute)|throughput|throttl|request limit reached|slow down|back ?off|over capacity|concurren(t|cy).*limit|limit of requests|compute units per second/i,
  ],
  [
    "not_there_yet",
    /header not found|unknown block|block (with .* )?(is )?(not found|not available|unavailable)|could not find block|(header|block|state) for (hash|block|number) not found|unfinalized data|after last accepted block|(beyond|ahead of|greater than|after|past|higher than|above).*(head|latest|tip|current|last)|not (yet )?(synced|synchroni[sz]ed|available yet)|still syncing|node is (syncing|behind|not synced)|latest block is|one of the blocks specified in filter|not.*imported/i,
  ],
  [
    "unsupported",
    /(method|api|endpoint|namespace|module).*(not (found|supported|available|exist|allowed|enabled|whitelisted|implemented)|does ?n.t exist|unsupported|disabled|unavailable|is not)|unsupported (method|rpc)|unknown method|not (supported|implemented|enabled)|does not exist\/is not available/i,
  ],
];

const byCode: Readonly<Record<number, AnswerClass>> = {
  // Infura, and others that follow EIP-1474.
  [-32005]: "rate_limited",
  // QuickNode.
  [-32007]: "rate_limited",
  // Base and others behind proxyd.
  [-32016]: "rate_limited",
  [-32029]: "rate_limited",
  [-32090]: "rate_limited",
  [-32097]: "rate_limited",
  [-32098]: "rate_limited",
  429: "rate_limited",
  // Ankr.
  [-32051]: "key_refused",
  [-32052]: "key_refused",
  [-32614]: "too_wide",
  [-32601]: "unsupported",
  [-32004]: "unsupported",
  [-32001]: "not_there_yet",
};

/**
 * The class of an error in the body of an answer.
 *
 * @param method that was called: only logs can be requested in smaller pieces.
 */
export function classOf(error: NodeError, method: string): AnswerClass {
  // A contract chooses the text of its revert, which proves nothing else.
  if (isReverted(error)) return "refused";
  const { code, message } = error;
  const said = byWords.find(([, words]) => words.test(message))?.[0] ?? byCode[code];
  if (said === "too_wide") return method === "eth_getLogs" ? "too_wide" : "broken";
  if (said) return said;
  if (isCallRefusal(message) || method === "eth_sendRawTransaction") return "refused";
  // -32602: the call itself is invalid, and every node would refuse it.
  return code === -32602 || code === -32600 ? "refused" : "broken";
}

/** A node's message for logs and people: short, one line, without URLs, which may contain a key. */
export function nodeWords(text: string): string {
  return text
    .replaceAll(/\w+:\/\/\S+/g, "<url>")
    .replaceAll(/\s+/g, " ")
    .slice(0, 200);
}

/** The error in an answer. Some nodes send a string instead of an object, or a bare message. */
export function errorIn(answer: unknown): NodeError | null {
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) return null;
  const { error, message } = answer as { error?: unknown; message?: unknown };
  if (typeof error === "object" && error !== null) {
    const { code, message: words, data } = error as { code?: unknown; message?: unknown; data?: unknown };
    return { code: Number(code), message: String(words), ...(data === undefined ? {} : { data }) };
  }
  const words = typeof error === "string" ? error : typeof message === "string" ? message : null;
  return words === null || "result" in answer ? null : { code: 0, message: words };
}

/** The class of an HTTP status, where the body has no error; null: the body counts. */
export function classOfStatus(status: number): AnswerClass | null {
  if (status === 429) return "rate_limited";
  if (status === 402) return "quota_ended";
  if (status === 401 || status === 403 || status === 407) return "key_refused";
  if (status === 413) return "too_wide";
  if (status === 408 || status === 504 || status === 524) return "too_slow";
  return status >= 500 ? "broken" : null;
}

/** Whether the called contract itself reverted: geth returns code 3, others send the data or mention the revert. */
export function isReverted({ code, message, data }: NodeError): boolean {
  return code === 3 || revertData(data) !== null || /revert/i.test(message);
}

/** A halt of a call, without data. */
export function isCallRefusal(message: string): boolean {
  return /out of gas|gas required exceeds|invalid opcode|stack (under|over)flow/i.test(message);
}

/** Nodes send the data bare or in an object. */
export function revertData(data: unknown): `0x${string}` | null {
  const text = typeof data === "object" && data !== null ? (data as { data?: unknown }).data : data;
  return typeof text === "string" && /^0x[0-9a-f]{8,}$/i.test(text) ? (text as `0x${string}`) : null;
}
