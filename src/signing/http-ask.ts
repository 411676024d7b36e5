import { Agent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import { readAtMost } from "../read-at-most.ts";
import { SignerError, shown } from "./trouble.ts";

/** Where a signer listens: a Unix socket, or a URL without a slash at the end. */
export type Endpoint = { socketPath: string } | { url: string };

export interface Question {
  method: "GET" | "POST";
  path: string;
  body?: string;
  headers?: Readonly<Record<string, string>>;
}

interface Bounds {
  /** From the question to the end of its answer, in milliseconds. */
  timeoutMs: number;
  answerBytes: number;
}

/** Kept connections to one endpoint. */
const connections = 8;

/** @returns what asks the endpoint, each time with at most one connection and within the bounds. */
export function openAsking(endpoint: Endpoint, { timeoutMs, answerBytes }: Bounds) {
  const tls = "url" in endpoint && endpoint.url.startsWith("https:");
  const options = { keepAlive: true, maxSockets: connections };
  const agent = tls ? new TlsAgent(options) : new Agent(options);
  const base = "url" in endpoint ? endpoint.url : "http://signer";
  const where = "socketPath" in endpoint ? { socketPath: endpoint.socketPath } : {};

  /** @throws SignerError `unreachable`. */
  function once(question: Question): Promise<{ status: number; body: string }> {
    const { method, path, body = "", headers = {} } = question;
    const tooLarge = () => new Error(`an answer of more than ${answerBytes} bytes`);
    return new Promise((done, failed) => {
      const give = (error: Error) => {
        clearTimeout(timer);
        failed(Object.assign(unreachable(error), { again: request.reusedSocket && isReset(error) }));
      };
      const request = (tls ? tlsRequest : plainRequest)(
        new URL(`${base}${path}`),
        { ...where, agent, method, headers: { ...headers, "content-length": String(Buffer.byteLength(body)) } },
        (answer) => {
          readAtMost(answer, answerBytes, tooLarge).then((read) => {
            clearTimeout(timer);
            done({ status: answer.statusCode ?? 0, body: read.toString("utf8") });
          }, give);
        },
      );
      const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      request.once("error", give);
      request.end(body);
    });
  }

  return {
    /**
     * Asks once more where a kept connection turns out to be closed: signing has no effects.
     *
     * @throws SignerError `unreachable`.
     */
    ask: async (question: Question) =>
      await once(question).catch((error: SignerError & { again?: boolean }) => {
        if (error.again) return once(question);
        throw error;
      }),
    close: () => agent.destroy(),
  };
}

function isReset(error: Error): boolean {
  return ["ECONNRESET", "EPIPE"].includes((error as NodeJS.ErrnoException).code ?? "");
}

function unreachable(error: Error): SignerError {
  return new SignerError("unreachable", (error as NodeJS.ErrnoException).code ?? shown(error.message));
}
