import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readAtMost } from "../read-at-most.ts";
import type { Logger } from "../telemetry/log.ts";
import { LogOnce } from "../telemetry/log-once.ts";
import type { DaySpending } from "./day-spending.ts";
import {
  errorCodes,
  InvalidRequest,
  mostBytes,
  mostRequests,
  parseJson,
  paths,
  type RpcError,
  readOrder,
  rulesHeader,
} from "./json-rpc.ts";
import type { Keyring } from "./keyrings.ts";
import { checkOrder, dayRefused, SigningRefused } from "./rules.ts";
import { signChecked } from "./signer.ts";
import { SignerError } from "./trouble.ts";

export interface SignerServerOptions {
  keyrings: readonly Keyring[];
  /** Callers with this token can have deployments, updates and empty transactions signed. */
  token: string;
  /** Callers with this token can also have roles granted. */
  adminToken: string;
  spending: DaySpending;
  log: Logger;
}

type Answering = SignerServerOptions & { logOnce: LogOnce };

interface HttpAnswer {
  status: number;
  body: unknown;
}

/** Time limit of a whole request, in milliseconds; it comes from the same machine. */
const requestMs = 5_000;

/** Serves the protocol of json-rpc.ts. Logs each signature and refusal (a repeated one once a minute), never a key. */
export function createSignerServer(given: SignerServerOptions): Server {
  const options = { ...given, logOnce: new LogOnce(given.log) };
  const server = createServer(
    { maxHeaderSize: 4_096, requestTimeout: requestMs, headersTimeout: requestMs, keepAliveTimeout: 60_000 },
    (request, response) => {
      handle(options, request)
        .catch((error: unknown) => {
          const status = error instanceof InvalidRequest ? error.status : 500;
          return { status, body: { jsonrpc: "2.0", id: null, error: asRpcError(error, options.log) } };
        })
        .then((answer) => reply(response, answer))
        .catch((error: unknown) => {
          options.log.error({ err: error }, "an answer could not be written");
          response.destroy();
        });
    },
  );
  server.maxConnections = 256;
  return server;
}

async function handle(options: Answering, request: IncomingMessage): Promise<HttpAnswer> {
  const admin = isBearer(request, options.adminToken);
  if (!admin && !isBearer(request, options.token)) {
    const path = request.url?.slice(0, 40);
    options.logOnce.write("warn", "wrong token", { path }, "a request with a wrong token");
    throw new InvalidRequest("the token is not this signer's", errorCodes.request, 401);
  }
  switch (`${request.method} ${request.url}`) {
    case `GET ${paths.upcheck}`:
      return { status: 200, body: "OK" };
    case `POST ${paths.rpc}`:
      return { status: 200, body: await answerAll(options, await readBody(request), admin) };
    default:
      throw new InvalidRequest(`there are POST ${paths.rpc} and GET ${paths.upcheck}`, errorCodes.request, 404);
  }
}

/** Answers each request of a batch on its own: a refused one does not affect the others. */
async function answerAll(options: Answering, text: string, admin: boolean): Promise<unknown> {
  const asked = parseJson(text);
  if (asked === undefined) throw new InvalidRequest("JSON is wanted", errorCodes.parse);
  if (!Array.isArray(asked)) return await answer(options, asked, admin);
  if (asked.length === 0 || asked.length > mostRequests)
    throw new InvalidRequest(`one to ${mostRequests} requests are wanted`, errorCodes.request);
  return await Promise.all(asked.map((request) => answer(options, request, admin)));
}

async function answer(options: Answering, request: unknown, admin: boolean) {
  const { id: given, method, params } = (request ?? {}) as Record<string, unknown>;
  // No other value is echoed: deeply nested input can be parsed but not serialized.
  const id = typeof given === "string" || typeof given === "number" ? given : null;
  const [parameter] = Array.isArray(params) && params.length < 2 ? (params as unknown[]) : [];
  try {
    if (method === "eth_signTransaction") return { jsonrpc: "2.0", id, result: await sign(options, parameter, admin) };
    if (method === "eth_accounts") return { jsonrpc: "2.0", id, result: accounts(options, parameter) };
    throw new InvalidRequest("there are eth_signTransaction and eth_accounts", errorCodes.method);
  } catch (error) {
    return { jsonrpc: "2.0", id, error: asRpcError(error, options.log) };
  }
}

async function sign({ keyrings, spending, log, logOnce }: Answering, parameter: unknown, admin: boolean) {
  const { wallet, ...order } = readOrder(parameter);
  const { kind, transaction } = order;
  const keyring = keyrings.find(({ policy }) => policy.chainId === transaction.chainId);
  const context = { chain: keyring?.chain ?? transaction.chainId, wallet, nonce: transaction.nonce, kind };
  try {
    const signer = keyring?.signers.find(({ address }) => address === wallet);
    if (!keyring || !signer) throw new SigningRefused(`no key of ${wallet} for chain ${transaction.chainId}`);
    checkOrder(keyring.policy, wallet, order, admin);
    const { dayWei } = keyring.policy;
    // Counted before signing: an order that fails after this cost nothing, but counts all the same.
    if (dayWei !== null && !spending.take(wallet, transaction, dayWei)) throw new SigningRefused(dayRefused, "day");
    const { raw, hash } = await signChecked(signer, order);
    log.info({ ...context, to: transaction.to, hash }, "signed");
    return raw;
  } catch (error) {
    if (!(error instanceof SigningRefused)) throw error;
    // The same order comes again in every round until somebody fixes the cause.
    const cause = `${context.chain} ${wallet} ${kind} ${error.message}`;
    logOnce.write("error", cause, { ...context, to: transaction.to, rule: error.message }, "signing refused");
    throw error;
  }
}

/** The wallets of all chains, unless one is named. */
function accounts({ keyrings }: Answering, parameter: unknown): string[] {
  const { chainId } = (parameter ?? {}) as { chainId?: unknown };
  const asked = keyrings.filter(({ policy }) => chainId === undefined || policy.chainId === Number(chainId));
  return [...new Set(asked.flatMap(({ policy }) => policy.wallets))];
}

async function readBody(request: IncomingMessage): Promise<string> {
  const tooLarge = () => new InvalidRequest(`more than ${mostBytes} bytes`, errorCodes.request, 413);
  return (await readAtMost(request, mostBytes, tooLarge)).toString("utf8");
}

/** Compares digests in constant time, which reveals nothing about the token. */
function isBearer(request: IncomingMessage, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(request.headers.authorization ?? ""), digest(`Bearer ${token}`));
}

function asRpcError(error: unknown, log: Logger): RpcError {
  if (error instanceof InvalidRequest) return { code: error.code, message: error.message };
  // From a Web3Signer behind this process.
  if (error instanceof SignerError) return { code: errorCodes.unavailable, message: error.message };
  if (error instanceof SigningRefused) {
    const { message, reason } = error;
    return { code: errorCodes.rejected, message, ...(reason ? { data: { reason } } : {}) };
  }
  log.error({ err: error }, "a request failed");
  return { code: errorCodes.internal, message: "the signer failed; its log says why" };
}

/** Sends a string as plain text, all else as JSON. */
function reply(response: ServerResponse, { status, body }: HttpAnswer): void {
  if (response.destroyed) return;
  const isText = typeof body === "string";
  const text = isText ? body : JSON.stringify(body);
  // The rest of such a request is not read.
  if (status === 413 || status === 401) response.setHeader("connection", "close");
  response
    .writeHead(status, {
      "content-type": isText ? "text/plain; charset=utf-8" : "application/json",
      "content-length": Buffer.byteLength(text),
      [rulesHeader]: "rules",
    })
    .end(text);
}
