import { EventEmitter } from "node:events";
import type { Server } from "node:http";
import { setTimeout as wait } from "node:timers/promises";
import { type ServerSocket, WebSocketServer } from "ws";
import { backoffMs } from "../backoff.ts";
import { type Header, quantityOf, readHeader } from "./header.ts";
import { parseJson } from "./json-rpc.ts";

interface WatchedChain {
  /** Asks the nodes for the newest block, without its transactions. The answer is believed. */
  readLatest(): Promise<unknown>;
  /** Whether the head is from before the nodes went back to a lower one, which is believed only after a while. */
  isDoubtful(): boolean;
  /** Websocket URLs of nodes. A connection that fails is tried again. */
  wsUrls: readonly string[];
  /** How often a node is polled that announces no blocks. */
  pollMs: number;
}

export interface SeenHead {
  header: Header;
  /** As the node gave it. */
  block: Record<string, unknown>;
  /** When a node reported it last (ms). */
  seenAt: number;
}

/** How often a node is polled that announces its blocks: the announcements may stop without an error. */
const safetyMs = 5_000;
/** After a failure, nodes are not polled more often than this. */
const faultMs = 1_000;

/**
 * The newest block of a chain, read once for all of the indexer. An announcement by a node only triggers a poll; its
 * content is not believed. A chain whose node announces blocks causes next to no requests between them.
 */
export class HeadWatch {
  readonly #chain: WatchedChain;
  readonly #events = new EventEmitter<{ head: [SeenHead] }>();
  readonly #nodes: NodeHeads;
  #wake = new AbortController();
  head: SeenHead | null = null;
  #fault: unknown = null;
  #asking: Promise<void> | null = null;
  #state: "new" | "running" | "ended" = "new";

  constructor(chain: WatchedChain) {
    this.#chain = chain;
    this.#events.setMaxListeners(0);
    this.#nodes = new NodeHeads(chain.wsUrls, () => this.#wake.abort());
  }

  /** Starts watching. Calling it again has no effect. */
  start(): void {
    if (this.#state !== "new") return;
    this.#state = "running";
    this.#nodes.start();
    void this.#run();
  }

  stop(): void {
    this.#state = "ended";
    this.#wake.abort();
    this.#nodes.stop();
  }

  /** Calls the listener with each new head at once. */
  onHead(listener: (head: SeenHead) => void): () => void {
    this.#events.on("head", listener);
    return () => this.#events.off("head", listener);
  }

  /** The head as the nodes have it now. @throws the error that kept them from answering. */
  async read(): Promise<SeenHead> {
    await this.#ask();
    if (this.#fault !== null) throw this.#fault;
    if (!this.head) throw new Error("no node has a block");
    return this.head;
  }

  /** Resolves when the head is another one than `known`, or after `mostMs`. */
  async next(known: string | undefined, mostMs: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.head?.header.hash !== known) return;
    const woken = new AbortController();
    const off = this.onHead(() => woken.abort());
    await wait(mostMs, undefined, { signal: AbortSignal.any([signal, woken.signal]) }).catch(() => undefined);
    off();
    signal.throwIfAborted();
  }

  async #run(): Promise<void> {
    while (this.#state === "running") {
      // An announcement during the poll leads to another poll.
      this.#wake = new AbortController();
      await this.#ask();
      if (this.#state !== "running") return;
      await wait(this.#pauseMs(), undefined, { signal: this.#wake.signal }).catch(() => undefined);
    }
  }

  #pauseMs(): number {
    const { pollMs, isDoubtful } = this.#chain;
    if (this.#fault !== null) return Math.max(pollMs, faultMs);
    const reached = this.head !== null && this.head.header.number >= this.#nodes.announced;
    return this.#nodes.areLive && reached && !isDoubtful() ? safetyMs : pollMs;
  }

  #ask(): Promise<void> {
    this.#asking ??= this.#askNow().finally(() => {
      this.#asking = null;
    });
    return this.#asking;
  }

  async #askNow(): Promise<void> {
    try {
      const block = (await this.#chain.readLatest()) as Record<string, unknown> | null;
      if (!block) throw new Error("no node has a block");
      this.#fault = null;
      const seenAt = Date.now();
      if (this.head?.header.hash === String(block["hash"]).toLowerCase()) {
        this.head.seenAt = seenAt;
        return;
      }
      const isFirst = this.head === null;
      this.head = { header: readHeader(block), block, seenAt };
      if (!isFirst) this.#nodes.found(this.head.header.number);
      this.#events.emit("head", this.head);
    } catch (error) {
      this.#fault = error;
    }
  }
}

const retryPause = { firstMs: 500, mostMs: 60_000 };
/** New blocks without an announcement until a websocket counts as dead; one announcement may just be on its way. */
const mostMissed = 2;

/** Subscribes to new blocks of nodes by websocket, and retries nodes that have none, at growing pauses. */
class NodeHeads {
  readonly #urls: readonly string[];
  readonly #onBlock: () => void;
  readonly #live = new Set<WebSocket>();
  readonly #sockets = new Set<WebSocket>();
  readonly #end = new AbortController();
  #missed = 0;
  /** Number of the newest block that a node announced. The other nodes may not have it yet. */
  announced = -1n;

  constructor(urls: readonly string[], onBlock: () => void) {
    this.#urls = urls;
    this.#onBlock = onBlock;
  }

  get areLive(): boolean {
    return this.#live.size > 0;
  }

  start(): void {
    for (const url of this.#urls) this.#connect(url, 0);
  }

  stop(): void {
    this.#end.abort();
    for (const socket of this.#sockets) socket.close();
  }

  /** Polling brought a new block. A websocket that should have announced it may be dead, and is then reopened. */
  found(number: bigint): void {
    if (number <= this.announced || !this.areLive) {
      this.#missed = 0;
      return;
    }
    this.#missed += 1;
    if (this.#missed < mostMissed) return;
    this.#missed = 0;
    for (const socket of this.#live) socket.close();
    this.#live.clear();
  }

  #connect(url: string, failures: number): void {
    const socket = new WebSocket(url);
    let wasLive = false;
    this.#sockets.add(socket);
    socket.addEventListener("open", () => {
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_subscribe", params: ["newHeads"] }));
    });
    socket.addEventListener("message", ({ data }) => {
      const message = parseJson(String(data)) as NodeMessage | null | undefined;
      if (message?.id === 1 && typeof message.result === "string") {
        wasLive = true;
        this.#live.add(socket);
      } else if (message?.id === 1) socket.close();
      const number = quantityOf(message?.params?.result?.number);
      if (number !== null) {
        this.announced = number;
        this.#missed = 0;
        this.#onBlock();
      }
    });
    // The event also fires after a failure to connect.
    socket.addEventListener("close", () => {
      this.#sockets.delete(socket);
      // A block may have come in the meantime.
      if (this.#live.delete(socket)) this.#onBlock();
      if (this.#live.size === 0) this.announced = -1n;
      const { signal } = this.#end;
      const count = wasLive ? 1 : failures + 1;
      wait(backoffMs(count, retryPause), undefined, { signal, ref: false }).then(
        () => this.#connect(url, count),
        () => undefined,
      );
    });
    socket.addEventListener("error", () => undefined);
  }
}

/** A message on a node's websocket: an answer, or an announced block. */
interface NodeMessage {
  id?: unknown;
  result?: unknown;
  params?: { result?: { number?: unknown } };
}

const maxRequestBytes = 65_536;
const subscription = "0x1";
const repeat = { firstMs: 100, mostMs: 5_000 };

/**
 * Announces each new head to Ponder over a websocket of `server` (`eth_subscribe`), so that Ponder does not poll; and
 * again at growing pauses: Ponder 0.17.7 fetches at most fifty missing blocks per announcement, and at a reorganisation
 * it only removes the blocks that left the chain. It ignores a head that it has.
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
      const request = parseJson(String(data)) as { id?: unknown; method?: unknown } | null | undefined;
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
