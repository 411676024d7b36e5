import { AsyncResource } from "node:async_hooks";
import type { RequestListener } from "node:http";
import { free } from "../admission/pay-for-work.ts";
import { ownerOf } from "../admission/throttle-failures.ts";
import { FairQueue } from "../fair-queue.ts";
import { clientAddress } from "../http/client-address.ts";
import { shortReads } from "../long-work.ts";
import type { Services } from "../services.ts";

/** The most milliseconds that a request waits for running fast-path reads. */
const timeoutMs = 2;
/** Milliseconds per turn of the event loop: cheap requests start in the same turn. */
const turnMs = 0.5;

/**
 * Starts requests that are not on the fast path a few at a time, each batch in its own turn of the event loop and after
 * fast-path reads. Starting one may take a millisecond or two, and everything that arrived at the same time would wait
 * for all of them. Accounts and addresses take turns.
 */
export function takeTurns(services: Services, ordinary: RequestListener): RequestListener {
  const waiting = new FairQueue<() => void>(Number.MAX_SAFE_INTEGER);
  let scheduled = false;
  /** Milliseconds of this turn spent on starting requests. */
  let usedMs = 0;
  let begunAt = 0;

  function begin(run: () => void): void {
    begunAt = performance.now();
    run();
    usedMs += performance.now() - begunAt;
  }

  /** A timer fires right after the fast-path reads have sent their statements. */
  function later(): void {
    if (shortReads.underWay > 0) setTimeout(next, 1);
    else setImmediate(next);
  }

  function next(): void {
    scheduled = false;
    usedMs = 0;
    if (waiting.length === 0) return;
    scheduled = true;
    if (shortReads.underWay > 0 && performance.now() - begunAt < timeoutMs) {
      setTimeout(next, 1);
      return;
    }
    later();
    while (usedMs < turnMs) {
      const run = waiting.shift();
      if (!run) return;
      begin(run);
    }
  }

  return (request, response) => {
    if (free.has(request.url ?? "")) return ordinary(request, response);
    const atOnce = shortReads.underWay === 0 && waiting.length === 0 && usedMs < turnMs;
    if (!scheduled) {
      scheduled = true;
      later();
    }
    if (atOnce) return begin(() => ordinary(request, response));
    const address = clientAddress(request, services.config.trustedProxies);
    const run = () => {
      // The client may have left.
      if (!response.destroyed) ordinary(request, response);
    };
    waiting.push(ownerOf(services, request, address), AsyncResource.bind(run));
  };
}
