import DataLoader from "dataloader";
import type { Address, Hex } from "viem";
import type { Logger } from "../telemetry/log.ts";
import { type Token, tokenOf } from "./endpoint.ts";
import { type Endpoint, openAsking } from "./http-ask.ts";
import { mostOrderBytes, mostOrders, paths, writeOrder, writeOrders } from "./protocol.ts";
import type { Signed, SigningOrder } from "./signer.ts";
import { SignerHealth, type SigningBackend } from "./signing-backend.ts";
import { SignerError, shown } from "./trouble.ts";

export interface SignerAccess {
  endpoint: Endpoint;
  token: Token;
}

/** It signs in a millisecond; this is for a machine that is busy, and for one that hangs. */
const timeoutMs = 2_000;
const answerBytes = 65_536;

/**
 * The signer's own process (src/processes/signer.ts), asked over its socket. Its wallets are those that are configured.
 *
 * It is as much ours as this process, so the sender is recovered from a wallet's first signature, and from the first one
 * after any trouble. Of each answer it is compared which transaction was signed (`signChecked`). Orders of one moment are
 * asked for together.
 */
export function signerProcess({ endpoint, token }: SignerAccess, log: Logger): SigningBackend {
  const { ask, close } = openAsking(endpoint, { timeoutMs, answerBytes });
  /** Read when it is needed: the signer makes the file at its first start. */
  let bearer: string | null = null;
  const authorization = () => {
    try {
      bearer ??= `Bearer ${tokenOf(token)}`;
      return bearer;
    } catch (error) {
      throw new SignerError("unauthorized", (error as Error).message);
    }
  };
  const read = async (method: "GET" | "POST", path: string, body?: string): Promise<Answer> => {
    const headers = { authorization: authorization(), "content-type": "application/json" };
    const { status, body: text } = await ask({ method, path, headers, ...(body === undefined ? {} : { body }) });
    return { ...asObject(parse(text)), status };
  };
  const expectOk = (answer: Answer): Answer => {
    const { status } = answer;
    if (status === 401) {
      // It may have been changed since.
      bearer = null;
      throw new SignerError("unauthorized", "401");
    }
    if (status === 403) throw refusal(answer);
    if (status === 200) return answer;
    const unusable = status >= 500 ? "unreachable" : "refused";
    throw new SignerError(unusable, `${status} ${shown(String(answer["error"] ?? ""))}`);
  };
  const askAlone = async (order: string): Promise<() => Answer> => {
    try {
      const answer = await read("POST", paths.sign, order);
      return () => expectOk(answer);
    } catch (error) {
      return () => {
        throw error;
      };
    }
  };
  const signMany = async (orders: readonly string[]): Promise<(() => Answer)[]> => {
    const body = writeOrders(orders);
    if (orders.length === 1 || body.length > mostOrderBytes) return await Promise.all(orders.map(askAlone));
    const answer = await read("POST", paths.signMany, body);
    // A signer of an earlier version takes them one by one.
    if (answer.status === 404) return await Promise.all(orders.map(askAlone));
    const { answers } = expectOk(answer);
    return orders.map((_order, index) => {
      const answer = asObject(Array.isArray(answers) ? answers[index] : null);
      return () => expectOk({ ...answer, status: Number(answer["status"] ?? 200) });
    });
  };
  const together = new DataLoader(signMany, {
    cache: false,
    maxBatchSize: mostOrders,
    batchScheduleFn: (dispatch) => setImmediate(dispatch),
  });
  const proven = new Set<Address>();
  const sign = async (address: Address, order: SigningOrder): Promise<Signed> => {
    try {
      return await health.watch(async () => {
        const answer = await together.load(writeOrder(address, order));
        const { signature, hash } = answer();
        if (typeof signature === "string") return { signature: signature as Hex, hash: String(hash) };
        throw new SignerError("wrong_answer", `no signature of ${address} under this transaction`);
      });
    } catch (error) {
      proven.clear();
      throw error;
    }
  };
  const where = "socketPath" in endpoint ? endpoint.socketPath : endpoint.url;
  const wallets = async () =>
    asObject(expectOk(await read("GET", paths.wallets))["wallets"]) as Record<string, readonly string[]>;
  const health = new SignerHealth(log, where, wallets);
  return {
    kind: "signer",
    wallets: ({ relay }) =>
      relay.wallets.map((address: Address) => ({
        address,
        sign: (order) => sign(address, order),
        get proven() {
          return proven.has(address);
        },
        trust: () => {
          proven.add(address);
          health.signed();
        },
        distrust: (why) => {
          proven.clear();
          const error = new SignerError("wrong_answer", `the signer of ${address} ${why}`);
          health.record(error);
          return error;
        },
      })),
    check: () => health.check(),
    requireAnswer: () => health.requireAnswer(),
    held: async (chain) => (await health.watch(wallets))[String(chain.id)] ?? [],
    close,
  };
}

/** What the signer says, with the status that it says it by. */
type Answer = Record<string, unknown> & { status: number };

function refusal(answer: Answer): SignerError {
  const why = String(answer["refused"] ?? 403);
  if (answer["reason"] === "day") return new SignerError("spent", why, "day");
  return new SignerError("refused", why, answer["reason"] === "roles" ? "roles" : null);
}

function asObject(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
