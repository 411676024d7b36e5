import type { IncomingMessage } from "node:http";

/** A GraphQL operation, without anything that its sender put into arguments and variables. */
export interface OperationName {
  /** Its kind, and its name if it has one: `query Tokens`. */
  operation: string;
  /** Its root fields: `contract, nfts`. */
  fields: string;
}

/** What is known of a request when it was answered, wherever in the program that was learnt. */
export interface RequestNotes {
  accountId?: string;
  keyId?: string;
  requestId?: string;
  /** The code of the answered error; of several the first one. */
  code?: string;
  operation?: OperationName;
}

const notes = new WeakMap<IncomingMessage, RequestNotes>();

/** @param request absent where an app is called without a server. */
export function noteRequest(request: IncomingMessage | undefined, more: RequestNotes): void {
  if (!request) return;
  const known = notes.get(request);
  if (known) Object.assign(known, more, known.code === undefined ? {} : { code: known.code });
  else notes.set(request, more);
}

export function notesOf(request: IncomingMessage): RequestNotes {
  return notes.get(request) ?? {};
}
