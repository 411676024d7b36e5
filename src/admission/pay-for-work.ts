import { AsyncResource } from "node:async_hooks";
import type { IncomingMessage, RequestListener } from "node:http";
import { OpenWork } from "../accounts/open-work.ts";
import { clientAddress } from "../http/client-address.ts";
import type { Services } from "../services.ts";
import { ofApis, ownerOf, refuseEarly } from "./throttle-failures.ts";

/** Whether the process lives has to be known when it has most to do. */
export const free: ReadonlySet<string> = new Set(["/livez"]);

/** Milliseconds of the process that a request takes at least: a statement, a piece of a file, and what is around them. */
const requestMs = 1;
/** Of what the process has in its memory: a small file, or the sale that open pages ask for again and again. */
const keptMs = 0.3;

const works = new WeakMap<Services, OpenWork>();
const payers = new WeakMap<IncomingMessage, string>();

/** What the requests of this process have used of the time for what needs no key. */
export function workOf(services: Services): OpenWork {
  const work = works.get(services) ?? new OpenWork(services.config.rateLimits);
  works.set(services, work);
  return work;
}

/**
 * Puts `OpenWork` before everything that is no API: content, pages, and whatever else is added. What costs more than a request
 * does at least pays for the rest itself (`payMore`).
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
 * Pays for a part of an answer before it is made; waits while whoever asked has used up what it may.
 *
 * @param request absent for what no client asked for.
 */
export async function payMore(services: Services, request: IncomingMessage | undefined, ms: number): Promise<void> {
  const owner = request && payers.get(request);
  if (owner !== undefined) await workOf(services).goOn(owner, ms);
}

/** Pays for what was done already, and may show only then how much it was. */
export function payAfterwards(services: Services, request: IncomingMessage | undefined, ms: number): void {
  const owner = request && payers.get(request);
  if (owner !== undefined) workOf(services).charge(owner, ms);
}

/** Gives back what a request paid beyond the price of what is kept in memory: its answer came from there. */
export function payAsKept(services: Services, request: IncomingMessage): void {
  const owner = payers.get(request);
  if (owner !== undefined) workOf(services).charge(owner, keptMs - requestMs);
}

/** Whether the sender of a request may have a file that is kept in memory: it has time left, and pays with it. */
export function payForKeptFile(services: Services, request: IncomingMessage): boolean {
  const address = clientAddress(request, services.config.trustedProxies);
  return address === null || workOf(services).takeNow(`address ${address}`, keptMs);
}
