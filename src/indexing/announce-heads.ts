import type { Server } from "node:http";
import { type ServerSocket, WebSocketServer } from "ws";
import type { HeadWatch, SeenHead } from "./head-watch.ts";

const maxRequestBytes = 65_536;
const subscription = "0x1";
const repeat = { firstMs: 100, mostMs: 5_000 };

/**
 * Tells Ponder each new head of the chain over a websocket of `server` (`eth_subscribe`), so that it asks for none itself.
 *
 * Each head is announced again, at growing pauses: Ponder 0.17.7 takes in fifty missing blocks for each announcement, and at a reorganisation it only takes out what left the chain. One that it has it ignores.
 */
export function announceHeads(server: Server, heads: HeadWatch): { stop(): void } {
  const sockets = new WebSocketServer({ server, maxPayload: maxRequestBytes });
  const subscribers = new Set<ServerSocket>();
  let timer: NodeJS.Timeout | undefined;
  const tell = (socket: ServerSocket, { block }: SeenHead) => {
    const { transactions: _, ...result } = block;
    socket.send(JSON.stringify({ jsonrpc: "2.0", method: "eth_subscription", params: { subscription, result } }));
  };
  const tellAll = (pauseMs: number) => {
    clearTimeout(timer);
    if (subscribers.size === 0) return;
    const { head } = heads;
    if (head) for (const socket of subscribers) tell(socket, head);
    timer = setTimeout(() => tellAll(Math.min(2 * pauseMs, repeat.mostMs)), pauseMs).unref();
  };
  const off = heads.onHead(() => tellAll(repeat.firstMs));
  sockets.on("connection", (socket: ServerSocket) => {
    socket.on("error", () => undefined);
    socket.on("close", () => subscribers.delete(socket));
    socket.on("message", (data) => {
      const request = readRequest(data);
      const result = request?.method === "eth_subscribe" ? subscription : true;
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: request?.id ?? null, result }));
      if (result === true) return;
      subscribers.add(socket);
      tellAll(repeat.firstMs);
    });
  });
  return {
    stop: () => {
      off();
      clearTimeout(timer);
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
    },
  };
}

function readRequest(data: unknown): { id?: unknown; method?: unknown } | null {
  try {
    return JSON.parse(String(data)) as { id?: unknown; method?: unknown };
  } catch {
    return null;
  }
}
