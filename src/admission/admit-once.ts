import type { IncomingMessage } from "node:http";
import { type Admission, admit } from "../accounts/admit.ts";
import type { Operation } from "../accounts/operations.ts";
import type { Session } from "../auth/caller.ts";
import type { Services } from "../services.ts";
import { recordCounted } from "./pace-uncounted.ts";
import { requestState, setRequestState } from "./request-state.ts";

/** `admit`, once per request and bucket: what the fast path took, the ordinary path does not take again. */
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
