import { backoffMs } from "../backoff.ts";

const retryPause = { firstMs: 500, mostMs: 60_000 };
/** Blocks that were found without their announcement: an announcement may be on its way when a node is asked. */
const mostMissed = 2;

/** Subscribes to the new blocks of nodes by websocket. A node without one is tried again now and then. */
export class NodeHeads {
  readonly #urls: readonly string[];
  readonly #onBlock: () => void;
  readonly #live = new Set<WebSocket>();
  readonly #sockets = new Set<WebSocket>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;
  #missed = 0;
  /** Number of the newest block that a node announced and the others may not have yet. */
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
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    for (const socket of this.#sockets) socket.close();
  }

  /** A new block was found by asking. A websocket that should have announced it may be dead: it is opened anew. */
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
      const message = readMessage(data);
      if (message?.id === 1 && typeof message.result === "string") {
        wasLive = true;
        this.#live.add(socket);
      } else if (message?.id === 1) socket.close();
      if (message?.number !== undefined) {
        this.announced = message.number;
        this.#missed = 0;
        this.#onBlock();
      }
    });
    // Fires after a failure to connect as well.
    socket.addEventListener("close", () => {
      this.#sockets.delete(socket);
      // Blocks may have come meanwhile.
      if (this.#live.delete(socket)) this.#onBlock();
      if (this.#live.size === 0) this.announced = -1n;
      if (this.#stopped) return;
      const count = wasLive ? 1 : failures + 1;
      const timer = setTimeout(
        () => {
          this.#timers.delete(timer);
          this.#connect(url, count);
        },
        backoffMs(count, retryPause),
      ).unref();
      this.#timers.add(timer);
    });
    socket.addEventListener("error", () => undefined);
  }
}

interface Message {
  id?: unknown;
  result?: unknown;
  number: bigint | undefined;
}

function readMessage(data: unknown): Message | null {
  try {
    const { id, result, params } = JSON.parse(String(data)) as {
      id?: unknown;
      result?: unknown;
      params?: { result?: { number?: unknown } };
    };
    const number = params?.result?.number;
    const isNumber = typeof number === "string" && /^0x[0-9a-f]{1,16}$/i.test(number);
    return { id, result, number: isNumber ? BigInt(number) : undefined };
  } catch {
    return null;
  }
}
