import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { networkOf } from "./client-address.ts";

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
