import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A way to a server that can be cut: connections end, and new ones are refused until it is mended. */
export class CuttableLink {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;

  private constructor(port: number) {
    this.#server = createServer((near) => {
      if (this.#cut) return void near.destroy();
      const far = connect(port, "127.0.0.1");
      for (const [socket, other] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.add(socket);
        socket
          .on("error", () => undefined)
          .once("close", () => {
            this.#sockets.delete(socket);
            other.destroy();
          });
      }
      near.pipe(far).pipe(near);
    });
  }

  static async start(url: string): Promise<CuttableLink> {
    const link = new CuttableLink(Number(new URL(url).port));
    await new Promise<void>((done) => link.#server.listen(0, "127.0.0.1", done));
    return link;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#cut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#cut = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((done) => this.#server.close(done));
  }
}
