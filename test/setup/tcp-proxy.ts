import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";

/** Hands bytes on to a server, until the test has the way to it cut. */
export class TcpProxy {
  readonly #server: Server;
  readonly #target: number;
  readonly #sockets = new Set<Socket>();
  /** Bytes to the server that still pass; then the connections are cut, and new ones too. */
  #left = Number.POSITIVE_INFINITY;
  /** Bytes that passed to the server. */
  passed = 0;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((client) => this.#join(client));
  }

  static async start(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((ready) => proxy.#server.listen(0, "127.0.0.1", ready));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** After so many more bytes to the server, it is away. */
  cutAfter(bytes: number): void {
    this.#left = bytes;
    if (bytes <= 0) this.#cut();
  }

  heal(): void {
    this.#left = Number.POSITIVE_INFINITY;
  }

  async stop(): Promise<void> {
    const closed = new Promise((done) => this.#server.close(done));
    this.#cut();
    await closed;
  }

  #join(client: Socket): void {
    if (this.#left <= 0) return void client.destroy();
    const server = connect(this.#target, "127.0.0.1");
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      socket.on("error", () => socket.destroy());
    }
    client.once("close", () => server.destroy());
    server.once("close", () => client.destroy());
    server.on("data", (bytes) => client.write(bytes));
    client.on("data", (bytes) => {
      const some = bytes.subarray(0, Math.max(0, this.#left));
      this.passed += some.length;
      this.#left -= bytes.length;
      server.write(some);
      if (this.#left <= 0) this.#cut();
    });
  }

  #cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}
