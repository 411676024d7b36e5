import type { IncomingMessage } from "node:http";
import type { Admission } from "../accounts/admit.ts";

/** What was found out about a request before it was left to the ordinary way, so that nothing is done twice. */
export interface RequestState {
  /** The request's body, which can be read only once. */
  body?: string;
  /** How the request was let in, or refused; see `admit`. */
  admission?: { state: Admission; refusal: unknown };
}

const states = new WeakMap<IncomingMessage, RequestState>();

export function setRequestState(request: IncomingMessage, found: RequestState): void {
  states.set(request, found);
}

export function requestState(request: IncomingMessage): RequestState {
  return states.get(request) ?? {};
}
