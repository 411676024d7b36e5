import type { IncomingMessage } from "node:http";
import { type Admission, admit } from "../accounts/admit.ts";
import type { Operation } from "../accounts/operations.ts";
import type { Session } from "../auth/caller.ts";
import type { Services } from "../services.ts";
import { recordCounted } from "./throttle-failures.ts";

/** What was already done for a request before it was passed to the ordinary path, so that nothing is done twice. */
export interface RequestState {
  /** The request's body, which can be read only once. */
  body?: string;
  /** Whether the request was admitted; see `admit`. */
  admission?: { state: Admission; refusal: unknown };
}

const states = new WeakMap<IncomingMessage, RequestState>();

export function setRequestState(request: IncomingMessage, found: RequestState): void {
  states.set(request, found);
}

export function requestState(request: IncomingMessage): RequestState {
  return states.get(request) ?? {};
}

/** `admit`, once per request and bucket: the ordinary path does not take again what the fast path took. */
export async function admitOnce(
  request: IncomingMessage,
  services: Services,
  session: Session,
  operation: Operation,
  cost: number,
  report: (admission: Admission) => void,
): Promise<void> {
  const { admission, ...found } = requestState(request);
  if (operation.bucket !== "read" || !admission) {
    await admit(services, session, operation, cost, report);
    return recordCounted(request);
  }
  // It counts for one operation only.
  setRequestState(request, found);
  report(admission.state);
  if (admission.refusal !== null) throw admission.refusal;
  recordCounted(request);
}
