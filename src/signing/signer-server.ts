import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { readAtMost } from "../read-at-most.ts";
import type { Logger } from "../telemetry/log.ts";
import { LogOnce } from "../telemetry/log-once.ts";
import type { DaySpending } from "./day-spending.ts";
import { mostOrderBytes, paths, readOrder, readOrders, type WalletOrder } from "./protocol.ts";
import { checkOrder, dayRefused, type SigningPolicy, SigningRefused } from "./rules.ts";
import { type Signer, signChecked } from "./signer.ts";
import { SignerError } from "./trouble.ts";

/** The wallets of one chain and what they may sign. */
export interface Keyring {
  chain: string;
  policy: SigningPolicy;
  signers: readonly Signer[];
}

export interface SignerServerOptions {
  keyrings: readonly Keyring[];
  /** Whoever sends it may have deployments, updates and empty transactions signed. */
  token: string;
  /** Whoever sends it may have roles granted too. */
  adminToken: string;
  spending: DaySpending;
  log: Logger;
}

type Answering = SignerServerOptions & { logOnce: LogOnce };

/** An answer other than a signature. */
class Refusal extends Error {
  readonly status: number;
  readonly body: Record<string, string>;

  constructor(status: number, body: Record<string, string>) {
    super(Object.values(body)[0]);
    this.status = status;
    this.body = body;
  }
}

/** Time for a whole request, in milliseconds; it comes from the same machine. */
const requestMs = 5_000;

/** Answers what protocol.ts describes. Each signature is logged, each refusal too (a repeated one once a minute), no key ever. */
export function createSignerServer(given: SignerServerOptions): Server {
  const options = { ...given, logOnce: new LogOnce(given.log) };
  const server = createServer(
    { maxHeaderSize: 4_096, requestTimeout: requestMs, headersTimeout: requestMs, keepAliveTimeout: 60_000 },
    (request, response) => {
      handle(options, request).then(
        (answer) => reply(response, 200, answer),
        (error: unknown) => {
          const { status, body } = asRefusal(error, options.log);
          reply(response, status, body);
        },
      );
    },
  );
  server.maxConnections = 256;
  return server;
}

async function handle(options: Answering, request: IncomingMessage): Promise<unknown> {
  const admin = isBearer(request, options.adminToken);
  if (!admin && !isBearer(request, options.token)) {
    const path = request.url?.slice(0, 40);
    options.logOnce.write("warn", "wrong token", { path }, "a request with a wrong token");
    throw new Refusal(401, { error: "the token is not this signer's" });
  }
  if (request.method === "GET" && request.url === paths.wallets) {
    const ofEach = <T>(read: (policy: SigningPolicy) => T) =>
      Object.fromEntries(options.keyrings.map(({ policy }) => [policy.chainId, read(policy)]));
    const room = ({ chainId, dayWei }: SigningPolicy) =>
      dayWei === null ? null : String(options.spending.room(chainId, dayWei));
    return { wallets: ofEach(({ wallets }) => wallets), room: ofEach(room) };
  }
  if (request.method === "POST" && request.url === paths.sign)
    return await sign(options, parsed(readOrder, await readBody(request)), admin);
  if (request.method === "POST" && request.url === paths.signMany)
    return await signMany(options, parsed(readOrders, await readBody(request)), admin);
  throw new Refusal(404, {
    error: `there are POST ${paths.sign}, POST ${paths.signMany} and GET ${paths.wallets}`,
  });
}

/** Each order for itself: one that is refused leaves the others alone. */
async function signMany(options: Answering, orders: readonly (() => WalletOrder)[], admin: boolean) {
  const answers = orders.map(async (read) => {
    try {
      return { status: 200, ...(await sign(options, parsed(read), admin)) };
    } catch (error) {
      const { status, body } = asRefusal(error, options.log);
      return { status, ...body };
    }
  });
  return { answers: await Promise.all(answers) };
}

async function sign({ keyrings, spending, log, logOnce }: Answering, order: WalletOrder, admin: boolean) {
  const { wallet, kind, transaction } = order;
  const keyring = keyrings.find(({ policy }) => policy.chainId === transaction.chainId);
  const context = { chain: keyring?.chain ?? transaction.chainId, wallet, nonce: transaction.nonce, kind };
  try {
    const signer = keyring?.signers.find(({ address }) => address === wallet);
    if (!keyring || !signer) throw new SigningRefused(`no key of ${wallet} for chain ${transaction.chainId}`);
    checkOrder(keyring.policy, wallet, order, admin);
    const { dayWei } = keyring.policy;
    // Counted before it is signed: what fails after this cost nothing, and counts all the same.
    if (dayWei !== null && !spending.take(wallet, transaction, dayWei)) throw new SigningRefused(dayRefused, "day");
    const { signature, hash } = await signChecked(signer, order);
    log.info({ ...context, to: transaction.to, hash }, "signed");
    return { signature, hash };
  } catch (error) {
    if (!(error instanceof SigningRefused)) throw error;
    // The same order comes again with every round, until somebody mends it.
    const cause = `${context.chain} ${wallet} ${kind} ${error.message}`;
    logOnce.write("error", cause, { ...context, to: transaction.to, rule: error.message }, "signing refused");
    throw new Refusal(403, { refused: error.message, ...(error.reason ? { reason: error.reason } : {}) });
  }
}

function parsed<From extends unknown[], To>(read: (...from: From) => To, ...from: From): To {
  try {
    return read(...from);
  } catch (error) {
    throw new Refusal(400, { error: error instanceof SyntaxError ? "JSON is wanted" : (error as Error).message });
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  const tooLarge = () => new Refusal(413, { error: `more than ${mostOrderBytes} bytes` });
  return (await readAtMost(request, mostOrderBytes, tooLarge)).toString("utf8");
}

/** Compared as digests, in a time that tells nothing of the token. */
function isBearer(request: IncomingMessage, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(request.headers.authorization ?? ""), digest(`Bearer ${token}`));
}

function asRefusal(error: unknown, log: Logger): { status: number; body: Record<string, string> } {
  if (error instanceof Refusal) return error;
  // Behind this process: a Web3Signer.
  if (error instanceof SignerError) return { status: 503, body: { error: error.message } };
  log.error({ err: error }, "a request failed");
  return { status: 500, body: { error: "the signer failed; its log says why" } };
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  if (response.destroyed) return;
  // What was not read of a request is not read any more.
  if (status === 413 || status === 401) response.setHeader("connection", "close");
  response
    .writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) })
    .end(text);
}
