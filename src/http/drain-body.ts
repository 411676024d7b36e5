import type { IncomingMessage } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import type { Context } from "hono";
import { ServiceError } from "../errors/errors.ts";

const drainBytes = 67_108_864;
const drainMs = 5_000;

/**
 * Runs a route that may fail before it has read its body, and then reads the rest, up to a bound: many clients look for
 * an answer only after they have sent everything. Beyond the bound the connection is closed with the answer.
 */
export async function withDrainedBody<E extends { Bindings: HttpBindings }>(
  c: Context<E>,
  answer: () => Promise<Response>,
): Promise<Response> {
  try {
    const response = await answer();
    if (!(await drainBody(c.env.incoming))) response.headers.set("Connection", "close");
    return response;
  } catch (error) {
    // A client whose upload was too slow gets no more time.
    const late = error instanceof ServiceError && error.code === "request_timeout";
    if (late || !(await drainBody(c.env.incoming))) c.header("Connection", "close");
    throw error;
  }
}

/** Reads and drops the rest of a body. @returns whether it ended within the bounds. */
async function drainBody(request: IncomingMessage): Promise<boolean> {
  if (request.readableEnded) return true;
  // All of it has arrived; the unread part is a few kilobytes.
  if (request.complete) {
    request.resume();
    return true;
  }
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
