import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage, RequestListener } from "node:http";
import { OpenWork } from "../accounts/open-work.ts";
import { clientAddress } from "../http/client-address.ts";
import type { Services } from "../services.ts";
import { ofApis, ownerOf, refuseEarly } from "./throttle-failures.ts";

/** Liveness must be known even under the heaviest load. */
export const free: ReadonlySet<string> = new Set(["/livez"]);

/** The least milliseconds that a request takes: a statement or a chunk of a file, with its overhead. */
const requestMs = 1;
/** Milliseconds for an answer from memory: a small file, or the sale that open pages poll. */
const keptMs = 0.3;

const works = new WeakMap<Services, OpenWork>();
const payers = new WeakMap<IncomingMessage, string>();

/** The process's time budget for keyless content and pages. */
export function workOf(services: Services): OpenWork {
  const work = works.get(services) ?? new OpenWork(services.config.rateLimits);
  works.set(services, work);
  return work;
}

/**
 * Puts `OpenWork` before everything that is no API: content, pages, and anything added later. A request that costs more
 * than the minimum pays for the rest itself (`payMore`).
 */
export function payForWork(services: Services, ordinary: RequestListener): RequestListener {
  const work = workOf(services);
  return (request, response) => {
    const { method, url = "" } = request;
    const isApi = method !== "OPTIONS" && ofApis.test(url);
    if (isApi || free.has(url)) return ordinary(request, response);
    const address = clientAddress(request, services.config.trustedProxies);
    if (address === null) return ordinary(request, response);
    const owner = ownerOf(services, request, address);
    payers.set(request, owner);
    let turn: Promise<void> | undefined;
    try {
      turn = work.begin(owner, requestMs);
    } catch {
      const message = "too much of this server's time; wait 2 s, and ask for less at once from then on";
      return refuseEarly(request, response, "rate_limit_exceeded", message, 2);
    }
    if (!turn) return ordinary(request, response);
    const start = () => {
      // The client may have left while it waited.
      if (!response.destroyed) ordinary(request, response);
    };
    void turn.then(AsyncResource.bind(start), () => response.destroy());
  };
}

/**
 * Pays for a part of an answer before it is made; waits while the owner's budget is used up.
 *
 * @param request undefined if no client asked.
 */
export async function payMore(services: Services, request: IncomingMessage | undefined, ms: number): Promise<void> {
  const owner = request && payers.get(request);
  if (owner !== undefined) await workOf(services).goOn(owner, ms);
}

/** Pays for finished work whose cost was not known before. */
export function payAfterwards(services: Services, request: IncomingMessage | undefined, ms: number): void {
  const owner = request && payers.get(request);
  if (owner !== undefined) workOf(services).charge(owner, ms);
}

/** Refunds a request down to the price of an answer from memory. */
export function payAsKept(services: Services, request: IncomingMessage): void {
  const owner = payers.get(request);
  if (owner !== undefined) workOf(services).charge(owner, keptMs - requestMs);
}

/** Whether the client may have a cached file at once: its address has time left, and pays with it. */
export function payForKeptFile(services: Services, request: IncomingMessage): boolean {
  const address = clientAddress(request, services.config.trustedProxies);
  return address === null || workOf(services).takeNow(`address ${address}`, keptMs);
}
