import type { Address, Hex } from "viem";
import { publicKeyToAddress } from "viem/accounts";
import { numberToHex, parseTransaction } from "viem/utils";
import type { Logger } from "../telemetry/log.ts";
import { openAsking } from "./http-ask.ts";
import { underRules } from "./local-keys.ts";
import type { SigningPolicy } from "./rules.ts";
import { encodeTransaction, type Signer, type Unsigned } from "./signer.ts";
import { SignerHealth, type SigningBackend } from "./signing-backend.ts";
import { SignerError, shown } from "./trouble.ts";

export interface Web3SignerAccess {
  url: string;
  /**
   * `sign`: `POST /api/v1/eth1/sign/{public key}`, a signature over the bytes that are given.
   * `transaction`: JSON-RPC `eth_signTransaction`, of which only the signature is taken.
   */
  method: "sign" | "transaction";
  /** For each question. A key in a vault or a security module takes a network's round trips. */
  timeoutMs: number;
}

/** The largest signed transaction in hex, with room. */
const answerBytes = 400_000;
const publicKeys = "/api/v1/eth1/publicKeys";
const json = { "content-type": "application/json" };

/**
 * A Web3Signer (https://docs.web3signer.consensys.io), which keeps keys in files, vaults, security modules or at cloud
 * key services. It signs whatever it is asked to, so the rules are kept here, in front of it.
 *
 * @param policyOf the rules of a chain. @param admin what is asked comes from an operator's command.
 */
export function web3Signer(
  { url, method, timeoutMs }: Web3SignerAccess,
  policyOf: (chainId: number) => SigningPolicy,
  log: Logger,
  admin: boolean,
): SigningBackend & { walletsOf(chainId: number, addresses: readonly Address[]): Signer[] } {
  const { ask, close } = openAsking({ url }, { timeoutMs, answerBytes });
  const health = new SignerHealth(log, new URL(url).origin, () => expectOk("GET", "/upcheck"));
  /** Public keys of 64 bytes by address; asked for again when one is missing. */
  let known = new Map<string, Hex>();

  async function expectOk(verb: "GET" | "POST", path: string, body?: string): Promise<string> {
    const answer = await ask({ method: verb, path, headers: json, ...(body === undefined ? {} : { body }) });
    if (answer.status === 200) return answer.body.trim();
    if (answer.status === 401) throw new SignerError("unauthorized", "401");
    throw new SignerError(answer.status >= 500 ? "unreachable" : "refused", `${answer.status} for ${verb} ${path}`);
  }

  async function keyOf(address: Address): Promise<Hex> {
    if (!known.has(address)) known = await readKeys();
    const key = known.get(address);
    if (!key) throw new SignerError("refused", `it has no key of ${address}`);
    return key;
  }

  async function readKeys(): Promise<Map<string, Hex>> {
    const listed = parse(await expectOk("GET", publicKeys));
    const keys = (Array.isArray(listed) ? listed : []).filter(
      (key): key is Hex => typeof key === "string" && /^0x(04)?[0-9a-fA-F]{128}$/.test(key),
    );
    return new Map(keys.map((key) => [publicKeyToAddress(uncompressed(key)).toLowerCase(), key] as const));
  }

  async function signBytes(address: Address, transaction: Unsigned): Promise<Hex> {
    const data = encodeTransaction(transaction);
    const body = JSON.stringify({ data });
    return (await expectOk("POST", `/api/v1/eth1/sign/${await keyOf(address)}`, body)).replaceAll('"', "") as Hex;
  }

  async function signFields(address: Address, transaction: Unsigned): Promise<Hex> {
    const { to, data, nonce, value, gas, maxFeePerGas, maxPriorityFeePerGas } = transaction;
    const fees = transaction.legacy ? { gasPrice: maxFeePerGas } : { maxFeePerGas, maxPriorityFeePerGas };
    const amounts = { nonce: BigInt(nonce), value, gas, ...fees };
    const hex = Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, numberToHex(amount)]));
    const params = [{ from: address, to, data, ...hex }];
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_signTransaction", params });
    const answer = parse(await expectOk("POST", "/", body)) as {
      result?: unknown;
      error?: { message?: unknown };
    } | null;
    if (answer?.error) throw new SignerError("refused", shown(String(answer.error.message ?? "an error")));
    return signatureOf(String(answer?.result ?? ""), transaction);
  }

  const wallet = (address: Address): Signer => ({
    address,
    sign: ({ transaction }) => health.watch(() => (method === "sign" ? signBytes : signFields)(address, transaction)),
    trust: () => health.signed(),
    distrust: (why) => {
      const error = new SignerError("wrong_answer", `the Web3Signer asked for ${address} ${why}`);
      health.record(error);
      return error;
    },
  });

  const walletsOf = (chainId: number, addresses: readonly Address[]) =>
    addresses.map((address) => underRules(wallet(address), policyOf(chainId), admin));

  return {
    kind: "web3signer",
    walletsOf,
    wallets: ({ id, relay }) => walletsOf(id, relay.wallets),
    check: () => health.check(),
    requireAnswer: () => health.requireAnswer(),
    // Without a signer in front of it nobody counts.
    held: async () => [...(await health.watch(readKeys)).keys()],
    close,
  };
}

/** @throws SignerError `wrong_answer` unless it is exactly this transaction with a signature. */
function signatureOf(raw: string, transaction: Unsigned): Hex {
  const wrong = (why: string) => new SignerError("wrong_answer", why);
  if (!/^0x(02|[cdef][0-9a-f])[0-9a-f]+$/i.test(raw)) throw wrong("no signed transaction");
  let parsed: ReturnType<typeof parseTransaction>;
  try {
    parsed = parseTransaction(raw as Hex);
  } catch {
    throw wrong("bytes that are no transaction");
  }
  const { r, s, v } = parsed;
  const yParity = transaction.legacy && v !== undefined ? Number((v + 1n) % 2n) : parsed.yParity;
  if (!r || !s || yParity === undefined) throw wrong("a transaction without a signature");
  // Encoded again it has to be the same bytes: any other field, order or addition shows.
  if (encodeTransaction(transaction, { r, s, yParity }).toLowerCase() !== raw.toLowerCase())
    throw wrong("another transaction than it was asked for");
  const word = (part: Hex) => part.slice(2).padStart(64, "0");
  return `0x${word(r)}${word(s)}${(27 + yParity).toString(16)}`;
}

function uncompressed(key: Hex): Hex {
  return key.length === 132 ? key : `0x04${key.slice(2)}`;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
