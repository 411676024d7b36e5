import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  headers: IncomingHttpHeaders;
  body: string;
  path: string;
  at: number;
}

/** What a receiver answers to one message. */
export type Answer =
  | { status: number; body?: string; headers?: Record<string, string>; afterMs?: number; after?: Promise<void> }
  | "hang"
  | "reset";

/** The challenge of a message that asks whether an endpoint wants any; null: it is another message. */
function challengeOf({ body }: Pick<Received, "body">): string | null {
  const isChallenge = body.startsWith('{"type":"webhook.verification"');
  return isChallenge ? (JSON.parse(body) as { data: { challenge: string } }).data.challenge : null;
}

/** A server of somebody's, that answers as it is told to. */
export class WebhookReceiver {
  /** All but challenges. */
  readonly received: Received[] = [];
  readonly challenged: Received[] = [];
  answer: (message: Received) => Answer = () => ({ status: 204 });
  /** To a challenge. */
  consent: (challenge: string, message: Received) => Answer = (challenge) => ({ status: 200, body: challenge });
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const parts: Buffer[] = [];
      request.on("data", (part: Buffer) => parts.push(part));
      request.on("error", () => undefined);
      request.on("end", () => {
        const message = {
          headers: request.headers,
          body: Buffer.concat(parts).toString(),
          path: request.url ?? "/",
          at: performance.now(),
        };
        const challenge = challengeOf(message);
        (challenge === null ? this.received : this.challenged).push(message);
        const answer = challenge === null ? this.answer(message) : this.consent(challenge, message);
        if (answer === "hang") return;
        if (answer === "reset") request.socket.destroy();
        else {
          const end = () => response.writeHead(answer.status, answer.headers).end(answer.body);
          setTimeout(() => void (answer.after ?? Promise.resolve()).then(end), answer.afterMs ?? 0);
        }
      });
    });
  }

  static async start(): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver();
    await new Promise<void>((done) => receiver.#server.listen(0, "127.0.0.1", done));
    return receiver;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((done) => this.#server.close(done));
  }
}
