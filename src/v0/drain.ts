import type { IncomingMessage } from "node:http";
import type { Context } from "hono";
import { ServiceError } from "../errors.ts";
import type { V0Env } from "./app.ts";

const drainBytes = 67_108_864;
const drainMs = 5_000;

/**
 * Runs a route that may fail before it has read its body, and then reads the rest, up to a bound:
 * many clients look for an answer only after they have sent everything. Past the bound the
 * connection is closed with the answer.
 */
export async function withDrainedBody(c: Context<V0Env>, answer: () => Promise<Response>): Promise<Response> {
  try {
    return await answer();
  } catch (error) {
    // A client that was too slow for its upload gets no more time.
    const late = error instanceof ServiceError && error.code === "request_timeout";
    if (late || !(await drain(c.env.incoming))) c.header("Connection", "close");
    throw error;
  }
}

/** @returns whether the body ended within the bounds. */
async function drain(request: IncomingMessage): Promise<boolean> {
  if (request.readableEnded) return true;
  if (request.destroyed || Number(request.headers["content-length"] ?? 0) > drainBytes) return false;
  return await new Promise<boolean>((done) => {
    let size = 0;
    const finish = (ended: boolean) => {
      clearTimeout(timer);
      request.off("data", count).off("end", onEnd).off("close", onClose);
      done(ended);
    };
    const count = (chunk: Buffer) => {
      size += chunk.length;
      if (size > drainBytes) finish(false);
    };
    const onEnd = () => finish(true);
    const onClose = () => finish(false);
    const timer = setTimeout(onClose, drainMs);
    request.on("data", count).on("end", onEnd).on("close", onClose).resume();
  });
}
