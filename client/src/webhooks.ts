import type { webhooks } from "./generated/openapi.ts";

type Body<N extends keyof webhooks> = webhooks[N]["post"]["requestBody"]["content"]["application/json"];

/** Any message to an endpoint: `switch (event.type)` narrows `event.data`. */
export type WebhookEvent = { [N in keyof webhooks]: Body<N> }[keyof webhooks];

/** The events of one family, such as `EventOf<"nft.transfer">` or `EventOf<"deployment">`. */
export type EventOf<Family extends keyof webhooks> = Body<Family>;

/** A message that is not from the service, or is too old. Answer it with 401, and do nothing with it. */
export class WebhookVerificationError extends Error {
  override readonly name = "WebhookVerificationError";
}

type HeaderValues = Headers | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** Maximum age of a message, and how far it may be ahead of this machine's clock; 300 by default. */
  toleranceSeconds?: number | undefined;
  /** Unix milliseconds; this machine's clock by default. */
  now?: number | undefined;
}

/**
 * Verifies a message by the Standard Webhooks convention, with Web Crypto: in Node, Deno, Bun, workers and browsers.
 *
 * @param body the bytes or the text as received, before anything has parsed it.
 * @param headers of the request: `webhook-id`, `webhook-timestamp`, `webhook-signature`.
 * @param keys the endpoint's secret (`whsec_…`) or public key (`whpk_…`); several while one replaces another.
 * @returns the event. Answer one of type `webhook.verification` with the text of `data.challenge`.
 * @throws WebhookVerificationError; TypeError for an invalid key.
 */
export async function verifyWebhook(
  body: string | Uint8Array | ArrayBuffer,
  headers: HeaderValues,
  keys: string | readonly string[],
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => {
    const value = headers instanceof Headers ? headers.get(name) : headers[name];
    if (typeof value === "string" && value !== "") return value;
    throw new WebhookVerificationError(`the header ${name} is missing`);
  }) as [string, string, string];
  if (!/^\d{1,12}$/.test(timestamp)) throw new WebhookVerificationError("webhook-timestamp is no number of seconds");
  const age = now / 1_000 - Number(timestamp);
  if (Math.abs(age) > toleranceSeconds)
    throw new WebhookVerificationError(
      age > 0 ? "the message is too old" : "the message is of the future: check the clock of this machine",
    );
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const content = concat(new TextEncoder().encode(`${id}.${timestamp}.`), bytes);
  const given = signatures.split(" ").map((part) => part.split(",") as [version: string, signature?: string]);
  for (const key of typeof keys === "string" ? [keys] : keys) {
    const { version, verify } = verifierOf(key);
    for (const [of, text = ""] of given) {
      const signature = of === version ? bytesOfBase64(text) : null;
      if (signature && (await verify(signature, content)))
        return JSON.parse(new TextDecoder().decode(bytes)) as WebhookEvent;
    }
  }
  throw new WebhookVerificationError("no signature is that of the endpoint's key");
}

type Bytes = Uint8Array<ArrayBuffer>;

interface Verifier {
  version: "v1" | "v1a";
  verify(signature: Bytes, content: Bytes): Promise<boolean>;
}

function verifierOf(text: string): Verifier {
  const [, kind, base64 = ""] = /^(whsec|whpk)_(.+)$/s.exec(text.trim()) ?? [];
  const raw = bytesOfBase64(base64);
  if (!kind || !raw)
    throw new TypeError("a key begins with whsec_ or whpk_, and base64 follows; take it as the API gave it");
  const algorithm = kind === "whsec" ? { name: "HMAC", hash: "SHA-256" } : { name: "Ed25519" };
  return {
    version: kind === "whsec" ? "v1" : "v1a",
    verify: async (signature, content) => {
      const key = await crypto.subtle.importKey("raw", raw, algorithm, false, ["verify"]);
      return await crypto.subtle.verify(algorithm.name, key, signature, content);
    },
  };
}

/** Null for invalid base64. */
function bytesOfBase64(text: string): Bytes | null {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return null;
  }
}

function concat(first: Uint8Array, second: Uint8Array): Bytes {
  const all = new Uint8Array(first.length + second.length);
  all.set(first);
  all.set(second, first.length);
  return all;
}
