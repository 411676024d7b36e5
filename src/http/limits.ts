import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "./client-address.ts";
import { type Listed, OpenList } from "./open-list.ts";
import { newRequestId } from "./request-id.ts";

/** Of one process. */
export const maxConnections = 2_000;

/** What Node takes only when a server is made. */
export const serverOptions = { connectionsCheckingInterval: 1_000, maxHeaderSize: 16_384 };

const tickMs = 1_000;
/** A request may take its time that long; from then on its body has to come at a rate. */
const graceMs = 6_000;
const bytesPerSecond = 1_024;
/** A client that takes nothing of its answer for so long has gone. */
const stuckAnswerMs = 30_000;

interface Watched extends Listed {
  request: IncomingMessage;
  response: ServerResponse;
  startedAt: number;
  /** Milliseconds that do not count against the client: the waiting was ours. */
  pardonedMs: number;
  bytesAtStart: number;
  written: number;
  writtenAt: number;
}

/**
 * Bounds what one connection can hold up: slow headers, slow bodies, answers that are not taken, idle
 * keep-alive. An upload of any size passes on a slow line; one that drips does not.
 */
export function limitServer(server: Server): void {
  server.headersTimeout = 5_000;
  // Uploads of the largest size over a slow line still have to fit.
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
  // What has come is not taken yet: then it is this process that is slow.
  if (request.readableLength >= request.readableHighWaterMark) watched.pardonedMs += tickMs;
  const ms = performance.now() - watched.startedAt - watched.pardonedMs;
  return ms > graceMs && request.socket.bytesRead - watched.bytesAtStart < (ms / 1000) * bytesPerSecond;
}

/** Answers 408 where the client can still read it; the next round finds one that is gone. */
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

/** What never became a request still gets an answer of the usual shape. */
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
  // One that does not read its answer must not stay for it.
  setTimeout(() => socket.destroy(), 1_000).unref();
}

/**
 * Keeps a server's connections to a number, of whoever has most of them: at the bound a newcomer gets the place of that
 * address's oldest connection without a request under way. So nobody shuts others out, and many who come through one
 * proxy are held back only where there is no room.
 */
export class Connections {
  readonly #most: number;
  /** In the order in which they came, by address. */
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
    // Answers under way end for nobody but who has more than all others together.
    if (largest === own || largest.size * 2 < this.#most) return newcomer;
    for (const socket of largest) if (!socket.destroyed) return socket;
    return newcomer;
  }
}
