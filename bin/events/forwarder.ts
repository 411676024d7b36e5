import { secretOfText, signedHeaders } from "../../src/outbox/sign-webhook.ts";

/** A webhook's body, and the id that it is sent with. */
export interface Message {
  id: string;
  type: string;
  body: string;
}

/** A receiver's answer, or the reason why there is none. */
export type Forwarded = { status: number; milliseconds: number } | { fault: string; milliseconds: number };

/** The same limit as for a webhook's try. */
const answerMs = 15_000;

/** Sends events to a receiver on the developer's machine, signed as webhooks are. */
export class Forwarder {
  readonly url: string;
  readonly #secret: Buffer;
  #last: Message | null = null;

  /** @param secret `whsec_…` */
  constructor(url: string, secret: string) {
    this.url = url;
    this.#secret = secretOfText(secret);
  }

  async send(message: Message): Promise<Forwarded> {
    this.#last = message;
    const { id, body } = message;
    const signature = signedHeaders({ secrets: [this.#secret] }, { id, seconds: Math.floor(Date.now() / 1_000), body });
    const began = performance.now();
    const elapsed = () => Math.round(performance.now() - began);
    try {
      const response = await fetch(this.url, {
        method: "POST",
        headers: { "content-type": "application/json", "user-agent": "mintyard-webhooks", ...signature },
        body,
        redirect: "manual",
        signal: AbortSignal.timeout(answerMs),
      });
      await response.body?.cancel();
      return { status: response.status, milliseconds: elapsed() };
    } catch (error) {
      return { fault: faultOf(error as Error), milliseconds: elapsed() };
    }
  }

  /** Sends the last message once more, with its id, so a receiver has to ignore it. Null before the first message. */
  async again(): Promise<{ message: Message; forwarded: Forwarded } | null> {
    return this.#last && { message: this.#last, forwarded: await this.send(this.#last) };
  }
}

function faultOf({ name, message, cause }: Error): string {
  if (name === "TimeoutError") return `no answer in ${answerMs / 1_000} s`;
  const { code, message: reason } = (cause ?? {}) as Partial<NodeJS.ErrnoException>;
  return code === "ECONNREFUSED" ? "nothing listens there" : reason || code || message;
}
