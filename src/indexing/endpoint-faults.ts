import { type AnswerClass, nodeWords } from "../rpc/answers.ts";
import { Contradiction, LeftChain, NodeRefusal, Refused, WrongChain } from "./json-rpc.ts";

/** What was wrong with an answer. `unbelieved`: it cannot be true. `unreachable`: none came, or it was not JSON-RPC. */
export type FaultClass = AnswerClass | "unbelieved" | "wrong_chain" | "unreachable";

export interface LastFault {
  class: FaultClass;
  /** Milliseconds. */
  at: number;
  /** In a line that anybody may read: without addresses and keys. */
  words: string;
}

/** What went wrong with one endpoint since the start. */
export class EndpointFaults {
  readonly counts = new Map<FaultClass, number>();
  last: LastFault | null = null;

  record(error: unknown): void {
    const kind = faultOf(error);
    this.counts.set(kind, (this.counts.get(kind) ?? 0) + 1);
    const words = error instanceof NodeRefusal ? error.error.message : error instanceof Error ? error.message : error;
    this.last = { class: kind, at: Date.now(), words: publicWords(String(words)) };
  }
}

function faultOf(error: unknown): FaultClass {
  if (error instanceof NodeRefusal) return error.kind;
  if (error instanceof WrongChain) return "wrong_chain";
  return error instanceof Refused || error instanceof Contradiction || error instanceof LeftChain
    ? "unbelieved"
    : "unreachable";
}

/** `/status` is for anybody: neither hosts nor what may be a key. */
function publicWords(text: string): string {
  return nodeWords(text)
    .replaceAll(/\b(ENOTFOUND|EAI_AGAIN) \S+/g, "$1 <host>")
    .replaceAll(/\[[0-9a-f:]{3,}\]|\b[\w-]+(\.[\w-]+)+(:\d+)?\b|\blocalhost(:\d+)?\b/gi, (word) =>
      /^\d+(\.\d+)?$/.test(word) ? word : "<host>",
    )
    .replaceAll(/\b(?!0x)(?=[\w-]*\d)[\w-]{16,}\b/g, "<key>");
}
