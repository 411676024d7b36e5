import type { IncomingMessage } from "node:http";
import type { Admission } from "../accounts/admit.ts";

/** What was found out about a request before it was left to the ordinary way, so that nothing is done twice. */
export interface Handover {
  /** The request's body, which can be read only once. */
  body?: string;
  /** How the request was let in, or refused; see `admit`. */
  admission?: { state: Admission; refusal: unknown };
}

const handovers = new WeakMap<IncomingMessage, Handover>();

export function handOver(request: IncomingMessage, found: Handover): void {
  handovers.set(request, found);
}

export function handedOver(request: IncomingMessage): Handover {
  return handovers.get(request) ?? {};
}
