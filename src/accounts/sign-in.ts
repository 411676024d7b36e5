import { createHash, randomBytes } from "node:crypto";
import { sql } from "kysely";
import {
  type Address,
  encodeDeployData,
  erc6492SignatureValidatorAbi,
  erc6492SignatureValidatorByteCode,
  type Hex,
  hashMessage,
  isAddress,
  isAddressEqual,
  recoverMessageAddress,
  toHex,
} from "viem";
import { createSiweMessage, parseSiweMessage, type SiweMessage } from "viem/siwe";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { isLoopback } from "../http/own-host.ts";
import type { Services } from "../services.ts";
import { admitAddress, asksLocalChainsOnly } from "./admit-address.ts";
import { type OpenedSession, openSession } from "./sessions.ts";
import { accountOfWallet, joinWallet, openWalletAccount } from "./wallet-accounts.ts";

/** The statement that the wallet shows to the signer (EIP-4361, `statement`). */
export const signInStatement = "Sign in to Mintyard. This costs nothing and sends no transaction.";

/** How long a nonce, and the message with it, is valid. */
export const signInMs = 300_000;
/** How far the clock of a visitor's machine may be ahead of ours. */
const clockMs = 60_000;
const maxMessageLength = 2_000;

/** The client, as far as it is known without an account. */
export interface SignInRequest {
  address: string | null;
  requestId: string;
}

/** What a wallet needs to compose the message. */
export interface SignInChallenge {
  /** 128 bits in letters and digits. */
  nonce: string;
  statement: string;
  expiresAt: Date;
}

export interface SignInInput {
  /** The EIP-4361 message exactly as it was signed. */
  message: string;
  signature: Hex;
  /** The secret that the browser got with its nonce. */
  browser: string;
  /** The account that the caller has opened with a key; from now on the wallet signs in to it. */
  joinTo?: string | undefined;
}

/** A contract wallet's signature may have any length its contract accepts; this is the limit. */
const maxSignature = 16_384;

/** Gas of one verification: a wallet that is deployed for it and then checks several signatures takes two thirds. */
const verificationGas = 1_500_000;
/** What a verification takes of the readers' budget: it costs a node as much as this many collection calls. */
const verificationCalls = 10;

/** The chain of a contract wallet is not known yet at this point. */
const questionsOf = (services: Services, cost: number) => ({ cost, ofDay: asksLocalChainsOnly(services) ? 0 : cost });

const sha256Of = (text: string) => createHash("sha256").update(text).digest();

/** A secret for a browser that requests a nonce. */
export function newBrowser(): string {
  return randomBytes(24).toString("base64url");
}

/**
 * Creates a nonce that one message may use once, within five minutes, from the browser that requested it.
 *
 * @param browser a secret of that browser; at least 128 random bits.
 * @throws ServiceError `rate_limit_exceeded`.
 */
export async function newChallenge(
  services: Services,
  browser: string,
  request: SignInRequest,
): Promise<SignInChallenge> {
  await admitAddress(services, request.address, questionsOf(services, 1), () => undefined);
  const nonce = randomBytes(16).toString("hex");
  await services.db.deleteFrom("service.sign_in_nonce").where(sql<boolean>`expires_at < clock_timestamp()`).execute();
  const { expires_at } = await services.db
    .insertInto("service.sign_in_nonce")
    .values({
      digest: sha256Of(nonce),
      browser: sha256Of(browser),
      expires_at: sql<Date>`clock_timestamp() + make_interval(secs => ${signInMs / 1_000})`,
    })
    .returning("expires_at")
    .executeTakeFirstOrThrow();
  return { nonce, statement: signInStatement, expiresAt: expires_at };
}

/**
 * Opens a session for the wallet that signed. A wallet that is new here gets a free account if sign-up is open. The
 * first message uses the nonce up, even if its signature is wrong.
 *
 * @throws ServiceError `value_error` for an invalid message, `invalid_credentials` for a used nonce or a wrong
 * signature, `sign_up_closed`, `account_suspended`, `rate_limit_exceeded`.
 */
export async function signIn(services: Services, input: SignInInput, request: SignInRequest): Promise<OpenedSession> {
  await admitAddress(services, request.address, questionsOf(services, 2), () => undefined);
  const { config, chains } = services;
  const claim = readSignInMessage(input.message, { publicUrl: config.publicUrl, chains, now: Date.now() });
  if (!/^0x([0-9a-f]{2})+$/i.test(input.signature) || input.signature.length > maxSignature)
    throw new ServiceError("value_error", "signature must be 0x and hex digits", { field: "signature" });
  const used = await services.db
    .deleteFrom("service.sign_in_nonce")
    .where("digest", "=", sha256Of(claim.nonce))
    .where("browser", "=", sha256Of(input.browser))
    .where(sql<boolean>`expires_at > clock_timestamp()`)
    .returning("digest")
    .executeTakeFirst();
  if (!used) throw new ServiceError("invalid_credentials", "this nonce was used, has expired, or is another browser's");
  // Contract wallets are distinguished by chain; a private key is the same on every chain.
  const chainId = (await signedByKey(claim.address, input))
    ? 0
    : await signedByContract(services, claim, input, `address:${request.address ?? ""}`);
  const wallet = { address: claim.address, chainId };
  if (input.joinTo !== undefined) {
    await joinWallet(services, wallet, input.joinTo, request.requestId);
    return await openSession(services, input.joinTo, wallet, request.requestId);
  }
  const known = await accountOfWallet(services, wallet);
  const accountId = known ?? (await openWalletAccount(services, wallet, request));
  return { ...(await openSession(services, accountId, wallet, request.requestId)), isNew: known === null };
}

async function signedByKey(address: Address, { message, signature }: SignInInput): Promise<boolean> {
  if (signature.length !== 132) return false;
  const signer = await recoverMessageAddress({ message, signature }).catch(() => null);
  return signer !== null && isAddressEqual(signer, address);
}

/**
 * Verifies by ERC-1271, or ERC-6492 for a wallet that is not deployed yet. The contract is under the caller's control,
 * so its gas is bounded, and its node calls take turns with those of readers.
 *
 * @returns the chain that the contract is on.
 * @throws ServiceError `invalid_credentials`; `service_unavailable` when readers have used up their calls.
 */
async function signedByContract(
  services: Services,
  { address, chain }: SignInClaim,
  { message, signature }: SignInInput,
  owner: string,
): Promise<number> {
  const call = {
    gas: toHex(verificationGas),
    data: encodeDeployData({
      abi: erc6492SignatureValidatorAbi,
      bytecode: erc6492SignatureValidatorByteCode,
      args: [address, hashMessage(message), signature],
    }),
  };
  const ask = async () =>
    await services.relay
      .nodes(chain)
      .first((node) => node.ask([{ method: "eth_call", params: [call, "latest"] }]))
      // A node that does not answer counts as an invalid signature.
      .catch(() => []);
  const [answer] = await services.readerCalls.alone(chain, owner, verificationCalls, ask);
  if (answer && "result" in answer && /^0x0*1$/.test(String(answer.result))) return chain.id;
  throw new ServiceError(
    "invalid_credentials",
    `the signature is not this wallet's, nor does a contract at its address on ${chain.name} take it`,
  );
}

/** The content of a signed message, checked as far as possible without the signature. */
interface SignInClaim {
  /** Lower case. */
  address: Address;
  chain: Chain;
  nonce: string;
}

/**
 * Parses an EIP-4361 message strictly: it must equal, character by character, the message composed from its parts, so
 * that it contains nothing that the wallet displayed and this parser missed.
 *
 * @param publicUrl the URL of this server. The sender chooses the `Host` header, so that proves nothing.
 * @param now milliseconds.
 * @throws ServiceError `value_error` naming the part that is wrong.
 */
function readSignInMessage(
  text: string,
  { publicUrl, chains, now }: { publicUrl: string; chains: readonly Chain[]; now: number },
): SignInClaim {
  const parts = text.length <= maxMessageLength ? parseSiweMessage(text) : {};
  if (!isExact(parts, text)) throw wrongMessage("it is not written as EIP-4361 says");
  const { address, chainId, domain, scheme, uri, statement, nonce, issuedAt, expirationTime, notBefore } = parts;
  const here = originsOf(publicUrl).find((origin) => origin.host === domain);
  if (!here) throw wrongMessage(`it is for ${domain}, and this is ${new URL(publicUrl).host}`);
  if (scheme !== undefined && `${scheme}:` !== here.protocol) throw wrongMessage("its scheme is not this site's");
  if (new URL(uri).origin !== here.origin) throw wrongMessage("its URI is of another site");
  if (statement !== signInStatement) throw wrongMessage("its statement is not this service's");
  // The wallet shows resources as further permissions, but this service grants none.
  if (parts.resources !== undefined) throw wrongMessage("it lists resources");
  const chain = chains.find(({ id }) => id === chainId);
  if (!chain) throw wrongMessage(`this installation does not serve chain ${chainId}`);
  const age = issuedAt ? now - issuedAt.getTime() : Number.NaN;
  if (!(age <= signInMs + clockMs && age >= -clockMs))
    throw wrongMessage("it was not issued within the last five minutes");
  if (expirationTime && expirationTime.getTime() <= now) throw wrongMessage("it has expired");
  if (notBefore && notBefore.getTime() > now + clockMs) throw wrongMessage("it is not valid yet");
  return { address: address.toLowerCase() as Address, chain, nonce };
}

function isExact(parts: ReturnType<typeof parseSiweMessage>, text: string): parts is SiweMessage {
  if (!parts.address || !isAddress(parts.address, { strict: false }) || !parts.uri || !URL.canParse(parts.uri))
    return false;
  try {
    return createSiweMessage(parts as SiweMessage) === text;
  } catch {
    return false;
  }
}

/** A loopback server has a second name, which browsers treat as another site. */
function originsOf(publicUrl: string): URL[] {
  const url = new URL(publicUrl);
  if (!isLoopback(url.hostname)) return [url];
  return ["127.0.0.1", "localhost"].map((name) => new URL(`${url.protocol}//${name}${url.port ? `:${url.port}` : ""}`));
}

function wrongMessage(why: string): ServiceError {
  return new ServiceError("value_error", `the signed message is refused: ${why}`, { field: "message" });
}
