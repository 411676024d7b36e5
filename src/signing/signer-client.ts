import type { Address, Hex } from "viem";
import { keccak256 } from "viem/utils";
import type { Logger } from "../telemetry/log.ts";
import { type Token, tokenOf } from "./endpoint.ts";
import { type Endpoint, openAsking } from "./http-ask.ts";
import { paths, writeOrder } from "./protocol.ts";
import { encodeTransaction, partsOf, type SigningOrder } from "./signer.ts";
import { SignerHealth, type SigningPlace } from "./signing-place.ts";
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
 * after any trouble. Of each answer it is compared which transaction was signed.
 */
export function signerProcess({ endpoint, token }: SignerAccess, log: Logger): SigningPlace {
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
  const read = async (method: "GET" | "POST", path: string, body?: string): Promise<Record<string, unknown>> => {
    const headers = { authorization: authorization(), "content-type": "application/json" };
    const answer = await ask({ method, path, headers, ...(body === undefined ? {} : { body }) });
    const said = parse(answer.body);
    if (answer.status === 401) {
      // It may have been changed since.
      bearer = null;
      throw new SignerError("unauthorized", "401");
    }
    if (answer.status === 403) throw new SignerError("refused", String(said["refused"] ?? 403));
    if (answer.status === 200) return said;
    const unusable = answer.status >= 500 ? "unreachable" : "refused";
    throw new SignerError(unusable, `${answer.status} ${shown(String(said["error"] ?? ""))}`);
  };
  const proven = new Set<Address>();
  const sign = async (address: Address, order: SigningOrder): Promise<Hex> => {
    try {
      return await health.watch(async () => {
        const { signature, hash } = await read("POST", paths.sign, writeOrder(address, order));
        const isOurs =
          typeof signature === "string" &&
          /^0x[0-9a-f]{130}$/i.test(signature) &&
          keccak256(encodeTransaction(order.transaction, partsOf(signature as Hex))) === hash;
        if (isOurs) return signature as Hex;
        throw new SignerError("wrong_answer", `no signature of ${address} under this transaction`);
      });
    } catch (error) {
      proven.clear();
      throw error;
    }
  };
  const where = "socketPath" in endpoint ? endpoint.socketPath : endpoint.url;
  const wallets = async () => (await read("GET", paths.wallets))["wallets"] as Record<string, readonly string[]>;
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
          const error = new SignerError("wrong_answer", `the signer of ${address} ${why}`);
          health.note(error);
          return error;
        },
      })),
    look: () => health.look(),
    requireAnswer: () => health.requireAnswer(),
    held: async (chain) => (await health.watch(wallets))[String(chain.id)] ?? [],
    close,
  };
}

function parse(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}
