import type { Answer, Asked, Call, HttpReply, Play, Reply } from "./fault.ts";

/** The calls that it hits are answered by `answer`, the others by the node. */
async function mixed(asked: Asked, answer: (call: Call) => Answer | Promise<Answer>): Promise<Answer[]> {
  const others = asked.calls.filter((call) => !asked.isHit(call));
  const honest = others.length > 0 ? await asked.honest(others) : [];
  return await Promise.all(
    asked.calls.map((call) => (asked.isHit(call) ? answer(call) : (honest[others.indexOf(call)] ?? {}))),
  );
}

/** An error of JSON-RPC for each call that it hits. */
export function says(code: number, message: string, http: HttpReply & { data?: unknown } = {}): () => Play {
  const { data, ...rest } = http;
  const error = { code, message, ...(data === undefined ? {} : { data }) };
  return () => async (asked) => ({ ...rest, answers: await mixed(asked, () => ({ error })) });
}

/** The error of a range that is wider than `most` blocks; others are answered. */
export function refusesWide(most: number, code: number, message: string, http: HttpReply = {}): () => Play {
  return () => async (asked) => {
    const isWide = ({ method, params }: Call) => {
      const { fromBlock, toBlock } = (params[0] ?? {}) as { fromBlock?: string; toBlock?: string };
      return method === "eth_getLogs" && Number(toBlock) - Number(fromBlock) + 1 > most;
    };
    if (!asked.calls.some(isWide)) return "honest";
    const error = { code, message };
    return { ...http, answers: await Promise.all(asked.calls.map(async () => ({ error }))) };
  };
}

/** The error of an answer with more than `most` logs. */
export function refusesLong(most: number, code: number, message: string): () => Play {
  return () => async (asked) => {
    const answers = await asked.honest(asked.calls);
    const error = { code, message };
    return {
      answers: answers.map(({ result }) => (Array.isArray(result) && result.length > most ? { error } : { result })),
    };
  };
}

/** The whole request is answered by HTTP. */
export const http =
  (status: number, text: string, headers: Record<string, string> = {}): (() => Play) =>
  () =>
  () => ({ status, text, headers });

export const hangs = (): Play => () => "hang";
export const resets = (): Play => () => "reset";
export const cuts = (): Play => () => "cut";

/** The node's own results, changed. */
export function edits(edit: (result: never, call: Call, before: number) => unknown): () => Play {
  return () => async (asked) => ({
    answers: await mixed(asked, async (call) => {
      const [answer = {}] = await asked.honest([call]);
      if (answer.error || answer.result === null || answer.result === undefined) return answer;
      return { result: edit(answer.result as never, call, asked.before) };
    }),
  });
}

/** A list of calls is answered as a whole; single calls are answered by the node. */
export const answersLists = (answer: (answers: Answer[], calls: readonly Call[]) => HttpReply): (() => Play) => {
  return () => async (asked) => {
    if (!asked.isList) return "honest";
    const answers = await asked.honest(asked.calls);
    return answer(
      answers.map((one, index) => ({ ...one, id: asked.calls[index]?.id })),
      asked.calls,
    );
  };
};

/** The first so many requests are hit, and no more. */
export function firstTimes(times: number, play: () => Play): () => Play {
  return () => {
    const inner = play();
    return (asked): Reply | Promise<Reply> => (asked.before < times ? inner(asked) : "honest");
  };
}

/** The node does what it is asked, and its answers are lost. */
export const loses =
  (end: "reset" | "hang" | HttpReply = "reset"): (() => Play) =>
  () =>
  async (asked) => {
    await asked.honest(asked.calls);
    return end;
  };
