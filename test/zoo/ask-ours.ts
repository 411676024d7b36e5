import { pino } from "pino";
import { type RpcGateway, startRpcGateway } from "../../src/indexing/rpc-gateway.ts";
import type { Verification } from "../../src/indexing/verified-chain.ts";
import { measuredSlowness } from "../setup/wait.ts";
import { askPonder } from "./ask-ponder.ts";
import type { Answer, Question } from "./fault.ts";
import { compare, type Outcome, wordsOf } from "./outcome.ts";
import { type Log, type Tokens, transferOf, transferTopic } from "./tokens.ts";

/** For an answer that a healthy node gives in milliseconds; a hanging one shall not hold the test for nine seconds. */
const timeoutMs = Math.ceil(1_500 * measuredSlowness);

interface Listening {
  /** Gets what the operator can read. */
  log: string[];
  /** When the log has these words, the end is that nothing was answered and why is known. */
  cause?: RegExp | undefined;
}

/** The gateway as the index has it, asked by Ponder over HTTP. */
export async function askOurs(
  urls: readonly string[],
  verification: Verification,
  question: Question,
  tokens: Tokens,
  { log, cause }: Listening,
): Promise<Outcome> {
  const named = Promise.withResolvers<Outcome>();
  const tell = (words: string) => {
    log.push(words);
    if (cause?.test(words)) named.resolve({ end: "error", words });
  };
  const write = (line: string) => tell(reasonIn(line));
  const chain = { name: "goerli", id: 31337, requestsPerSecond: 0, lagTimeoutMs: 60_000, local: false };
  const limits = { timeoutMs, maxAnswerBytes: 134_217_728 };
  let gateway: RpcGateway | undefined;
  try {
    gateway = await startRpcGateway({ ...chain, verification }, urls, pino({ level: "info" }, { write }), limits);
    const asked =
      question === "receipts"
        ? askForBlock(gateway.url, tokens)
        : restarted(gateway, (url) => askPonder([url], question, tokens, (words) => tell(`Ponder: ${words}`)));
    return await Promise.race([asked, named.promise]);
  } catch (error) {
    return { end: "error", words: wordsOf(error) };
  } finally {
    await gateway?.close();
  }
}

const mostRestarts = 3;

/** Ponder's process ends with answers that contradict one another, is started again, and asks the same gateway anew. */
async function restarted({ url }: RpcGateway, ask: (url: string) => Promise<Outcome>): Promise<Outcome> {
  for (let restarts = 0; ; restarts += 1) {
    try {
      return await ask(url);
    } catch (error) {
      if (restarts === mostRestarts || !wordsOf(error).startsWith("Inconsistent RPC response data")) throw error;
    }
  }
}

/** The index asks for no receipts: the gateway takes the logs of a block from them. */
async function askForBlock(url: string, { address, busy }: Tokens): Promise<Outcome> {
  const filter = { address, topics: [transferTopic], blockHash: busy.block.hash };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getLogs", params: [filter] });
  const { result, error } = (await (await fetch(url, { method: "POST", body })).json()) as Answer;
  if (error) throw new Error(error.message);
  return compare((result as Log[]).map(transferOf), busy.transfers);
}

function reasonIn(line: string): string {
  const { reason, msg } = JSON.parse(line) as { reason?: string; msg: string };
  return reason ?? msg;
}
