/** How a question or a deployment ended. */
export type Outcome =
  | { end: "right" }
  | { end: "wrong"; what: string }
  | { end: "error"; words: string }
  | { end: "never" };

/** @param ms after which it counts as never. */
export async function boundedBy(ms: number, run: () => Promise<Outcome>): Promise<Outcome> {
  let timer: NodeJS.Timeout | undefined;
  const never = new Promise<Outcome>((done) => {
    timer = setTimeout(() => done({ end: "never" }), ms);
  });
  const failed = (error: unknown): Outcome => ({ end: "error", words: wordsOf(error) });
  try {
    return await Promise.race([run().catch(failed), never]);
  } finally {
    clearTimeout(timer);
  }
}

/** An error's own words in one line. */
export function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { shortMessage, details } = error as { shortMessage?: string; details?: string };
  const words = shortMessage ? `${shortMessage} ${details ?? ""}` : error.message;
  return words
    .replaceAll(/https?:\/\/\S+/g, "<url>")
    .replaceAll(/\s+/g, " ")
    .trim();
}

/** What differs between two lists of transfers. */
export function compare(given: readonly string[], expected: readonly string[]): Outcome {
  if (given.length === expected.length && given.every((one, index) => one === expected[index])) return { end: "right" };
  const [had, wanted] = [new Set(given), new Set(expected)];
  const missing = expected.filter((one) => !had.has(one)).length;
  const extra = given.filter((one) => !wanted.has(one)).length;
  const doubled = given.length - had.size;
  const parts = [
    missing > 0 ? `${missing} of ${expected.length} transfers missing` : "",
    extra > 0 ? `${extra} that the chain does not have` : "",
    doubled > 0 ? `${doubled} doubled` : "",
  ].filter(Boolean);
  return { end: "wrong", what: parts.join(", ") || "in another order" };
}
