import type { IncomingMessage } from "node:http";

/** A GraphQL operation without its arguments and variables. */
export interface OperationName {
  /** Its kind and, if it has one, its name: `query Tokens`. */
  operation: string;
  /** Its root fields: `contract, nfts`. */
  fields: string;
}

/** Facts about a request for its log entry, collected from any part of the program. */
export interface RequestNotes {
  accountId?: string;
  keyId?: string;
  requestId?: string;
  /** The code of the answered error; of several, the first. */
  code?: string;
  operation?: OperationName;
}

const notes = new WeakMap<IncomingMessage, RequestNotes>();

/** @param request undefined if an app is called without a server. */
export function noteRequest(request: IncomingMessage | undefined, more: RequestNotes): void {
  if (!request) return;
  const known = notes.get(request);
  if (known) Object.assign(known, more, known.code === undefined ? {} : { code: known.code });
  else notes.set(request, more);
}

export function notesOf(request: IncomingMessage): RequestNotes {
  return notes.get(request) ?? {};
}
