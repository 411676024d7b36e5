import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "./client-address.ts";
import { type Listed, OpenList } from "./open-list.ts";
import { newRequestId } from "./request-id.ts";

/** Per process. */
export const maxConnections = 2_000;

/** Options that Node accepts only when a server is created. */
export const serverOptions = { connectionsCheckingInterval: 1_000, maxHeaderSize: 16_384 };

const tickMs = 1_000;
/** For this long a request may take its time; after that its body must arrive at a minimum rate. */
const graceMs = 6_000;
const bytesPerSecond = 1_024;
/** A client that reads nothing of its answer for this long is gone. */
const stuckAnswerMs = 30_000;

interface Watched extends Listed {
  request: IncomingMessage;
  response: ServerResponse;
  startedAt: number;
  /** Milliseconds that do not count against the client, because this process kept it waiting. */
  pardonedMs: number;
  bytesAtStart: number;
  written: number;
  writtenAt: number;
}

/**
 * Bounds how long a connection can be occupied by slow headers, slow bodies, unread answers, or idle keep-alive. An
 * upload of any size passes on a slow line; one that trickles does not.
 */
export function limitServer(server: Server): void {
  server.headersTimeout = 5_000;
  // The largest upload over a slow line has to fit in this.
  server.requestTimeout = 300_000;
  server.keepAliveTimeout = 5_000;
  new Connections(maxConnections).watch(server);
  server.maxRequestsPerSocket = 0;
  server.on("clientError", answerBrokenRequest);
  const open = new OpenList<Watched>();
  server.prependListener("request", (request, response) => {
    const now = performance.now();
    const bytesAtStart = request.socket.bytesRead;
    const times = { startedAt: now, pardonedMs: 0, writtenAt: now };
    const watched: Watched = { request, response, ...times, bytesAtStart, written: 0, place: 0 };
    open.add(watched);
    response.on("close", () => open.remove(watched));
  });
  const timer = setInterval(() => {
    for (const watched of open.all()) {
      if (isStuck(watched)) watched.request.socket.destroy();
      else if (isDripping(watched)) refuseSlow(watched);
    }
  }, tickMs).unref();
  server.once("close", () => clearInterval(timer));
}

function isDripping(watched: Watched): boolean {
  const { request } = watched;
  if (request.complete || request.destroyed) return false;
  // Received data has not been read yet, so this process is the slow one.
  if (request.readableLength >= request.readableHighWaterMark) watched.pardonedMs += tickMs;
  const ms = performance.now() - watched.startedAt - watched.pardonedMs;
  return ms > graceMs && request.socket.bytesRead - watched.bytesAtStart < (ms / 1000) * bytesPerSecond;
}

/** Answers 408 if the client can still read it; the next round detects clients that are gone. */
function refuseSlow({ request, response }: Watched): void {
  const { socket } = request;
  if (response.headersSent || !socket.writable) socket.destroy();
  else answerBrokenRequest(Object.assign(new Error("too slow"), { code: "ERR_HTTP_REQUEST_TIMEOUT" }), socket);
}

function isStuck(watched: Watched): boolean {
  const { bytesWritten, writableLength } = watched.request.socket;
  const now = performance.now();
  if (bytesWritten !== watched.written || writableLength === 0) {
    watched.written = bytesWritten;
    watched.writtenAt = now;
  }
  return now - watched.writtenAt > stuckAnswerMs;
}

const refusals: Record<string, { status: string; code: string; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    code: "request_timeout",
    message: "the request did not arrive in time",
  },
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    code: "value_error",
    message: `the headers are over ${serverOptions.maxHeaderSize} bytes`,
  },
};
const malformed = { status: "400 Bad Request", code: "value_error", message: "this is not an HTTP request" };

/** Input that never became a request still gets an error of the usual shape. */
function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const { status, code, message } = refusals[error.code ?? ""] ?? malformed;
  const requestId = newRequestId();
  const failure = { status_code: Number(status.slice(0, 3)), code, message, request_id: requestId };
  const body = JSON.stringify({ response: "NOK", error: failure });
  socket.end(
    `HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Type: application/json\r\nX-Request-Id: ${requestId}\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  // A client that does not read the answer must not keep the connection open.
  setTimeout(() => socket.destroy(), 1_000).unref();
}

/**
 * Bounds a server's number of connections. At the bound a new connection replaces the oldest connection without a
 * running request of the address that has most. So nobody shuts others out, and many clients behind one proxy are
 * limited only when there is no free slot.
 */
export class Connections {
  readonly #most: number;
  /** In order of arrival, by address. */
  readonly #open = new Map<string, Set<Socket>>();
  readonly #busy = new Map<Socket, number>();
  #count = 0;

  constructor(most: number) {
    this.#most = most;
  }

  watch(server: Server): void {
    server.on("connection", (socket: Socket) => this.#add(socket));
    server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#busy.set(socket, (this.#busy.get(socket) ?? 0) + 1);
      response.once("close", () => {
        const left = (this.#busy.get(socket) ?? 1) - 1;
        if (left > 0) this.#busy.set(socket, left);
        else this.#busy.delete(socket);
      });
    });
  }

  #add(socket: Socket): void {
    const address = networkOf(socket.remoteAddress ?? "");
    const own = this.#open.get(address) ?? new Set();
    this.#open.set(address, own.add(socket));
    this.#count += 1;
    socket.once("close", () => {
      this.#count -= 1;
      own.delete(socket);
      this.#busy.delete(socket);
      if (own.size === 0 && this.#open.get(address) === own) this.#open.delete(address);
    });
    if (this.#count > this.#most) this.#victim(own, socket).destroy();
  }

  #victim(own: Set<Socket>, newcomer: Socket): Socket {
    let largest = own;
    for (const sockets of this.#open.values()) if (sockets.size > largest.size) largest = sockets;
    for (const socket of largest)
      if (socket !== newcomer && !socket.destroyed && !this.#busy.has(socket)) return socket;
    // Running answers are ended only for an address that has more connections than all others together.
    if (largest === own || largest.size * 2 < this.#most) return newcomer;
    for (const socket of largest) if (!socket.destroyed) return socket;
    return newcomer;
  }
}
