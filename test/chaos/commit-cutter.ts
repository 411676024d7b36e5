import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

/** A COMMIT, or the statement that accepts a request, which commits by itself. */
const commits = /commit|require_limits/i;

/** Stands between the service and PostgreSQL; on demand it cuts a connection after it was told to commit, before the answer. */
export class CommitCutter {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cuts = 0;

  private constructor(port: number) {
    this.#server = createServer((near) => {
      const far = connect(port, "127.0.0.1");
      const close = () => {
        near.destroy();
        far.destroy();
        this.#sockets.delete(near);
      };
      this.#sockets.add(near);
      for (const socket of [near, far]) socket.on("error", close).on("close", close).setNoDelay(true);
      far.on("data", (chunk) => near.write(chunk));
      near.on("data", (chunk) => {
        if (this.#cuts === 0 || !commits.test(chunk.toString("latin1"))) return void far.write(chunk);
        this.#cuts -= 1;
        // The server gets it and may carry it out; nobody will hear what became of it.
        near.destroy();
        far.end(chunk);
      });
    });
  }

  static async start(port: number): Promise<CommitCutter> {
    const cutter = new CommitCutter(port);
    await new Promise<void>((done) => cutter.#server.listen(0, "127.0.0.1", done));
    return cutter;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cutNext(): void {
    this.#cuts += 1;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((done) => this.#server.close(done));
  }
}
