import { type Address, isAddress } from "viem";
import { createSiweMessage, parseSiweMessage, type SiweMessage } from "viem/siwe";
import type { Chain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import { isLoopback } from "../http/own-host.ts";

/** What the wallet shows to the person who signs (EIP-4361, `statement`). */
export const signInStatement = "Sign in to Mintyard. This costs nothing and sends no transaction.";

/** How long a nonce and the message around it hold. */
export const signInMs = 300_000;
/** What the clock of a visitor's machine may be ahead of this one. */
const clockMs = 60_000;
const maxLength = 2_000;

/** What a signed message says, checked as far as that is possible without the signature. */
export interface SignInClaim {
  /** Lower case. */
  address: Address;
  chain: Chain;
  nonce: string;
}

/**
 * Reads an EIP-4361 message strictly: it must be letter by letter what its parts make, so that nothing stands in it
 * that the wallet showed and this does not see.
 *
 * @param publicUrl where browsers find this server. The header `Host` is whatever the sender wrote, so it proves nothing.
 * @param now milliseconds.
 * @throws ServiceError `value_error` naming the part that is wrong.
 */
export function readSignInMessage(
  text: string,
  { publicUrl, chains, now }: { publicUrl: string; chains: readonly Chain[]; now: number },
): SignInClaim {
  const parts = text.length <= maxLength ? parseSiweMessage(text) : {};
  if (!isExact(parts, text)) throw wrong("it is not written as EIP-4361 says");
  const { address, chainId, domain, scheme, uri, statement, nonce, issuedAt, expirationTime, notBefore } = parts;
  const here = originsOf(publicUrl).find((origin) => origin.host === domain);
  if (!here) throw wrong(`it is for ${domain}, and this is ${new URL(publicUrl).host}`);
  if (scheme !== undefined && `${scheme}:` !== here.protocol) throw wrong("its scheme is not this site's");
  if (new URL(uri).origin !== here.origin) throw wrong("its URI is of another site");
  if (statement !== signInStatement) throw wrong("its statement is not this service's");
  // What a wallet shows as further rights, nobody here grants or knows of.
  if (parts.resources !== undefined) throw wrong("it lists resources");
  const chain = chains.find(({ id }) => id === chainId);
  if (!chain) throw wrong(`this installation does not serve chain ${chainId}`);
  const age = issuedAt ? now - issuedAt.getTime() : Number.NaN;
  if (!(age <= signInMs + clockMs && age >= -clockMs)) throw wrong("it was not issued within the last five minutes");
  if (expirationTime && expirationTime.getTime() <= now) throw wrong("it has expired");
  if (notBefore && notBefore.getTime() > now + clockMs) throw wrong("it is not valid yet");
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

/** A loopback server has a second name, which browsers take for another site. */
function originsOf(publicUrl: string): URL[] {
  const url = new URL(publicUrl);
  if (!isLoopback(url.hostname)) return [url];
  return ["127.0.0.1", "localhost"].map((name) => new URL(`${url.protocol}//${name}${url.port ? `:${url.port}` : ""}`));
}

function wrong(why: string): ServiceError {
  return new ServiceError("value_error", `the signed message is refused: ${why}`, { field: "message" });
}
