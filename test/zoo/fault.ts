import type { Verification } from "../../src/indexing/verified-chain.ts";

export interface Call {
  id: unknown;
  method: string;
  params: unknown[];
}

/** One member of an answer, without its id where the fault does not choose that too. */
export interface Answer {
  id?: unknown;
  result?: unknown;
  error?: { code: number; message: string; data?: unknown };
}

/** One HTTP request in which the fault is asked for at least one of the methods that it hits. */
export interface Asked {
  calls: readonly Call[];
  isList: boolean;
  isHit(call: Call): boolean;
  /** Such requests before this one. */
  before: number;
  /** What the node behind says. */
  honest(calls: readonly Call[]): Promise<Answer[]>;
}

export interface HttpReply {
  status?: number;
  headers?: Record<string, string>;
  /** As JSON, in place of the list or the one answer that JSON-RPC wants. */
  json?: unknown;
  text?: string;
  answers?: Answer[];
}

/** `hang`: the connection stays open and says nothing. `reset`: it is reset. `cut`: it ends within the body. */
export type Reply = HttpReply | "hang" | "reset" | "cut" | "honest";
export type Play = (asked: Asked) => Reply | Promise<Reply>;

interface Common {
  name: string;
  /** Where it was reported, `owner/repository#number`, or the provider's own page. */
  source: string;
  /** Methods, or all. */
  hits: readonly string[] | "all";
  /** For each endpoint anew: some faults end after a while. */
  play: () => Play;
  /** No healthy endpoint is configured beside it. */
  alone?: true;
  /** A known defect: what happens instead of the expected end. Remove it with the fix. */
  unmet?: string;
}

/**
 * What is asked: the transfers of all blocks, one block with its transactions, the transfers of one block by its receipts, or
 * the head twice.
 */
export type Question = "logs" | "block" | "receipts" | "head";

/**
 * `right`: what the healthy node says. `not asked`: the same, since what the fault hits is not asked for. `sampled`: a wrong answer,
 * and the sample of final blocks names what is missing. A pattern: no answer, and the log names the cause in these words.
 */
export type ReadEnd = "right" | "not asked" | "sampled" | RegExp;

export interface ReadFault extends Common {
  kind: "read";
  question: Question;
  /** Of each setting of VERIFY_<CHAIN> that says something about it. */
  ends: Partial<Record<Exclude<Verification, "off">, ReadEnd>>;
}

/** `one`: exactly one collection, and a final request. A pattern: no transaction, and the refusal or the log has these words. */
export type WriteEnd = "one" | RegExp;

export interface WriteFault extends Common {
  kind: "write";
  end: WriteEnd;
}

export type Fault = ReadFault | WriteFault;
