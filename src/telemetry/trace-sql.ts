import type pg from "pg";
import { isRecording, startClientSpan } from "./span.ts";

/**
 * Traces each statement of a connection, under the span that caused it: the text with its placeholders, never a value.
 */
export function traceStatements(client: pg.ClientBase): void {
  const query = client.query.bind(client) as (...args: unknown[]) => unknown;
  client.query = ((...args: unknown[]) => {
    const [first] = args;
    const text = typeof first === "string" ? first : ((first as { text?: unknown } | undefined)?.text ?? "");
    const end = isRecording() && typeof text === "string" && text ? startClientSpan(...statementSpan(text)) : null;
    if (!end) return query(...args);
    const last = args.at(-1);
    if (typeof last === "function") {
      args[args.length - 1] = (error: unknown, ...rest: unknown[]) => {
        end(error ?? undefined);
        last(error, ...rest);
      };
      return query(...args);
    }
    const answer = query(...args);
    if (answer instanceof Promise) answer.then(() => end(), end);
    else end();
    return answer;
  }) as typeof client.query;
}

/** Name and attributes of a statement's span. */
export function statementSpan(text: string) {
  const verb = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? "statement";
  // Literals are ours, but a quoted one could be a client's text in a statement built by concatenation.
  const shown = text.replace(/'(?:[^']|'')*'/g, "'?'").slice(0, 1_000);
  return [`sql ${verb}`, { "db.system.name": "postgresql", "db.query.text": shown }] as const;
}
