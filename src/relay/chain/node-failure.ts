import { BaseError } from "viem";
import type { Chain } from "../../chains.ts";
import { ServiceError } from "../../errors/errors.ts";
import { nodeWords } from "../../rpc/answers.ts";
import { NodeFault } from "../../rpc/batch.ts";

/** Runs a read of the chain; whatever fails becomes `service_unavailable`, without the node's own text. */
export async function askNode<T>(chain: Chain, read: () => Promise<T>): Promise<T> {
  try {
    return await read();
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError("service_unavailable", `the ${chain.name} node does not answer`, {
      retryAfterSeconds: 5,
      cause,
    });
  }
}

/** A node's words for the log or for evidence: short, one line, without the URL (it may hold a key). */
function describeFailure(error: unknown): { code: string; detail: string } {
  if (!(error instanceof Error)) return { code: "unknown", detail: "" };
  // The innermost cause may be the node's bare error object.
  const innermost: { name?: unknown; code?: unknown } = error instanceof BaseError ? error.walk() : error;
  const code = [innermost.name ?? error.name, innermost.code].filter((part) => part !== undefined).join(" ");
  const text = error instanceof BaseError ? error.details || error.shortMessage : error.message;
  return { code, detail: nodeWords(text) };
}

/** A failure as fields for the log: a node's own error would bring its URL, with whatever key is in it. */
export function loggable(error: unknown): Record<string, unknown> {
  const origin = error instanceof ServiceError ? error.cause : error;
  if (origin instanceof NodeFault) return { failure: origin.message };
  return origin instanceof BaseError ? { failure: describeFailure(origin) } : { err: error };
}
