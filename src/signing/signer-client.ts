import { Agent, request as plainRequest } from "node:http";
import { Agent as TlsAgent, request as tlsRequest } from "node:https";
import DataLoader from "dataloader";
import type { Address, Hex } from "viem";
import { publicKeyToAddress } from "viem/accounts";
import { readAtMost } from "../read-at-most.ts";
import type { Logger } from "../telemetry/log.ts";
import { type Endpoint, type Token, tokenOf } from "./endpoint.ts";
import {
  errorCodes,
  mostBytes,
  mostRequests,
  parseJson,
  paths,
  type RpcError,
  rulesHeader,
  writeOrder,
} from "./json-rpc.ts";
import { type SigningPolicy, underRules } from "./rules.ts";
import { encodeTransaction, type Signer, type SigningOrder } from "./signer.ts";
import { SignerHealth, type SigningBackend } from "./signing-backend.ts";
import { SignerError, shown } from "./trouble.ts";

export interface SignerAccess {
  endpoint: Endpoint;
  token: Token;
}

export interface Web3SignerAccess {
  url: string;
  /**
   * `sign`: `POST /api/v1/eth1/sign/{public key}`, a signature over the given bytes. `transaction`: JSON-RPC
   * `eth_signTransaction`, as for our signer.
   */
  method: "sign" | "transaction";
  /** Per request. A key in a vault or a security module takes network round trips. */
  timeoutMs: number;
}

/** Our own signer signs in a millisecond; this allows for a busy machine, and ends the wait for one that hangs. */
const ownTimeoutMs = 2_000;
/** The largest signed transaction in hex, with a margin; a batch of them is no larger. */
const answerBytes = 400_000;
/** Keep-alive connections to one endpoint. */
const connections = 8;

/**
 * The signer's own process (src/processes/signer.ts), called over its socket. Its wallets are the configured ones, and
 * it enforces the rules itself.
 */
export function signerProcess({ endpoint, token }: SignerAccess, log: Logger): SigningBackend {
  const { walletOf, ...backend } = openClient({ endpoint, token, method: "transaction", timeoutMs: ownTimeoutMs }, log);
  return { kind: "signer", ...backend, wallets: ({ relay }) => relay.wallets.map(walletOf) };
}

/**
 * A Web3Signer (https://docs.web3signer.consensys.io), which keeps keys in files, vaults, security modules or cloud key
 * services. It signs anything, so the rules are enforced here, in front of it.
 *
 * @param policyOf the rules of a chain. @param admin orders come from an operator's command.
 */
export function web3Signer(
  { url, method, timeoutMs }: Web3SignerAccess,
  policyOf: (chainId: number) => SigningPolicy,
  log: Logger,
  admin: boolean,
): SigningBackend & { walletsOf(chainId: number, addresses: readonly Address[]): Signer[] } {
  const { walletOf, ...backend } = openClient({ endpoint: { url }, token: null, method, timeoutMs }, log);
  const walletsOf = (chainId: number, addresses: readonly Address[]) =>
    addresses.map((address) => underRules(walletOf(address), policyOf(chainId), admin));
  return { kind: "web3signer", ...backend, walletsOf, wallets: ({ id, relay }) => walletsOf(id, relay.wallets) };
}

/** A Web3Signer needs no token. */
type Access = Omit<Web3SignerAccess, "url"> & { endpoint: Endpoint; token: Token | null };

/**
 * The client of both. Our signer is part of this installation, so the sender is recovered only from a wallet's first
 * signature and the first after any fault; for a Web3Signer every time. `signChecked` compares each answer with the
 * transaction to be signed. Simultaneous calls to our signer share a batch; a Web3Signer accepts none.
 */
function openClient({ endpoint, token, method, timeoutMs }: Access, log: Logger) {
  const { ask, close } = openAsking(endpoint, timeoutMs);
  const where = "socketPath" in endpoint ? endpoint.socketPath : new URL(endpoint.url).origin;
  const health = new SignerHealth(log, where, () => expectOk("GET", paths.upcheck));
  /** Read on demand: the signer creates the file at its first start. */
  let bearer: string | null = null;
  /** 64-byte public keys by address; fetched again when one is missing. */
  let publicKeys = new Map<string, Hex>();
  const proven = new Set<Address>();

  function headers(): Record<string, string> {
    const json = { "content-type": "application/json" };
    if (!token) return json;
    try {
      bearer ??= `Bearer ${tokenOf(token)}`;
    } catch (error) {
      throw new SignerError("unauthorized", (error as Error).message);
    }
    return { ...json, authorization: bearer };
  }

  async function expectOk(verb: "GET" | "POST", path: string, body = ""): Promise<string> {
    const answer = await ask(verb, path, headers(), body);
    // A Web3Signer understands requests for our signer, and would sign them without any rule.
    if (answer.status === 200 && token && !answer.keepsRules)
      throw new SignerError(
        "wrong_answer",
        "SIGNER_URL names no signer of this service; a Web3Signer is WEB3SIGNER_URL",
      );
    if (answer.status === 200) return answer.body.trim();
    if (answer.status === 401) {
      // The token may have changed since it was read.
      bearer = null;
      throw new SignerError("unauthorized", "401");
    }
    // An earlier signer does not know the path: requests wait until it is upgraded.
    const isOlder = token !== null && answer.status === 404;
    throw new SignerError(
      answer.status >= 500 || isOlder ? "unreachable" : "refused",
      `${answer.status} for ${verb} ${path}${isOlder ? ": the signer has an earlier version" : ""}`,
    );
  }

  const calls = new DataLoader(callAll, {
    cache: false,
    maxBatchSize: token ? mostRequests : 1,
    batchScheduleFn: (dispatch) => setImmediate(dispatch),
  });

  /** @returns the result of each call, or its error. */
  async function callAll(asked: readonly { method: string; params: readonly unknown[] }[]): Promise<unknown[]> {
    const requests = asked.map((call, id) => JSON.stringify({ jsonrpc: "2.0", id, ...call }));
    const batch = `[${requests.join(",")}]`;
    if (requests.length === 1 || batch.length > mostBytes)
      return await Promise.all(
        requests.map((request) =>
          expectOk("POST", paths.rpc, request).then(
            (text) => resultOf(parseJson(text)),
            (error: unknown) => error,
          ),
        ),
      );
    const answers = parseJson(await expectOk("POST", paths.rpc, batch));
    return asked.map((_call, id) =>
      resultOf(Array.isArray(answers) ? answers.find((answer) => answer?.id === id) : answers),
    );
  }

  async function readKeys(): Promise<Map<string, Hex>> {
    const listed = parseJson(await expectOk("GET", "/api/v1/eth1/publicKeys"));
    const keys = (Array.isArray(listed) ? listed : []).filter(
      (key): key is Hex => typeof key === "string" && /^0x(04)?[0-9a-fA-F]{128}$/.test(key),
    );
    return new Map(keys.map((key) => [publicKeyToAddress(`0x04${key.slice(-128)}`).toLowerCase(), key] as const));
  }

  async function signBytes(address: Address, { transaction }: SigningOrder): Promise<Hex> {
    if (!publicKeys.has(address)) publicKeys = await readKeys();
    const key = publicKeys.get(address);
    if (!key) throw new SignerError("refused", `it has no key of ${address}`);
    const body = JSON.stringify({ data: encodeTransaction(transaction) });
    return (await expectOk("POST", `/api/v1/eth1/sign/${key}`, body)).replaceAll('"', "") as Hex;
  }

  async function signTransaction(address: Address, order: SigningOrder): Promise<{ raw: string }> {
    const raw = await calls.load({ method: "eth_signTransaction", params: [writeOrder(address, order)] });
    return { raw: typeof raw === "string" ? raw : "" };
  }

  async function accounts(chainId: number): Promise<string[]> {
    const params = token ? [{ chainId }] : [];
    const listed = await calls.load({ method: "eth_accounts", params });
    return (Array.isArray(listed) ? listed : []).map((address) => String(address).toLowerCase());
  }

  const walletOf = (address: Address): Signer => ({
    address,
    sign: async (order) => {
      try {
        return await health.watch(async () => await (method === "sign" ? signBytes : signTransaction)(address, order));
      } catch (error) {
        proven.clear();
        throw error;
      }
    },
    get proven() {
      return proven.has(address);
    },
    trust: () => {
      if (token) proven.add(address);
      health.signed();
    },
    distrust: (why) => {
      proven.clear();
      const error = new SignerError("wrong_answer", `the signer of ${address} ${why}`);
      health.record(error);
      return error;
    },
  });

  return {
    walletOf,
    check: () => health.check(),
    requireAnswer: () => health.requireAnswer(),
    held: async ({ id }: { id: number }) =>
      await health.watch(async () => (method === "sign" ? [...(await readKeys()).keys()] : await accounts(id))),
    close,
  };
}

/** The result in a JSON-RPC answer, or its error as a `SignerError`, which is returned. */
function resultOf(answer: unknown): unknown {
  const { result, error } = (answer ?? {}) as { result?: unknown; error?: Partial<RpcError> };
  if (!error) return result;
  const why = typeof error.message === "string" ? error.message : "an error";
  if (error.code === errorCodes.unavailable || error.code === errorCodes.internal)
    return new SignerError("unreachable", why);
  const reason = error.data?.reason;
  if (reason === "day") return new SignerError("spent", why, reason);
  return new SignerError("refused", why, reason === "roles" ? reason : null);
}

/**
 * @param timeoutMs from the request to the end of its answer.
 * @returns calls over a bounded number of connections, and what closes them. @throws SignerError `unreachable`.
 */
function openAsking(endpoint: Endpoint, timeoutMs: number) {
  const tls = "url" in endpoint && endpoint.url.startsWith("https:");
  const options = { keepAlive: true, maxSockets: connections };
  const agent = tls ? new TlsAgent(options) : new Agent(options);
  const base = "url" in endpoint ? endpoint.url : "http://signer";
  const where = "socketPath" in endpoint ? { socketPath: endpoint.socketPath } : {};
  const tooLarge = () => new Error(`an answer of more than ${answerBytes} bytes`);

  function ask(
    method: "GET" | "POST",
    path: string,
    given: Readonly<Record<string, string>>,
    body: string,
    isRepeated = false,
  ): Promise<{ status: number; body: string; keepsRules: boolean }> {
    const headers = { ...given, "content-length": String(Buffer.byteLength(body)) };
    return new Promise((done, failed) => {
      let isOver = false;
      // A connection that breaks within an answer fails both the request and the reading: the call is repeated once.
      const fail = (error: NodeJS.ErrnoException) => {
        if (isOver) return;
        isOver = true;
        clearTimeout(timer);
        const isClosed = request.reusedSocket && ["ECONNRESET", "EPIPE"].includes(error.code ?? "");
        // A keep-alive connection had been closed. Repeating the call is safe: signing has no side effects.
        if (isClosed && !isRepeated) done(ask(method, path, given, body, true));
        else failed(new SignerError("unreachable", error.code ?? shown(error.message)));
      };
      const request = (tls ? tlsRequest : plainRequest)(
        new URL(`${base}${path}`),
        { ...where, agent, method, headers },
        (answer) => {
          readAtMost(answer, answerBytes, tooLarge).then((read) => {
            isOver = true;
            clearTimeout(timer);
            const keepsRules = answer.headers[rulesHeader] !== undefined;
            done({ status: answer.statusCode ?? 0, body: read.toString("utf8"), keepsRules });
          }, fail);
        },
      );
      const timer = setTimeout(() => request.destroy(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs);
      request.on("error", fail);
      request.end(body);
    });
  }

  return { ask, close: () => agent.destroy() };
}
