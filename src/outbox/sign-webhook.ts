import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  randomBytes,
  sign,
} from "node:crypto";

/** Keys that sign an endpoint's messages: raw secret bytes, and an ed25519 key as PKCS#8 where it has one. */
export interface SigningKeys {
  secrets: readonly Buffer[];
  signingKey?: Buffer;
}

const secretBytes = 32;

export function newSecret(): Buffer {
  return randomBytes(secretBytes);
}

export function newSigningKey(): Buffer {
  return generateKeyPairSync("ed25519").privateKey.export({ format: "der", type: "pkcs8" });
}

/** In the form of the convention; receivers' libraries take this text. */
export function secretText(secret: Buffer): string {
  return `whsec_${secret.toString("base64")}`;
}

/** The bytes of a secret in the form of `secretText`. */
export function secretOfText(text: string): Buffer {
  return Buffer.from(text.replace(/^whsec_/, ""), "base64");
}

/** The public half of a signing key: `whpk_` and base64 of its 32 bytes. */
export function publicKeyText(signingKey: Buffer): string {
  const key = createPublicKey(createPrivateKey({ key: signingKey, format: "der", type: "pkcs8" }));
  return `whpk_${key.export({ format: "der", type: "spki" }).subarray(-32).toString("base64")}`;
}

/**
 * Headers of one message by the Standard Webhooks convention (github.com/standard-webhooks/standard-webhooks, spec):
 * `v1` is HMAC-SHA-256, `v1a` ed25519, both of `id.timestamp.body`. During a rotation each secret has its `v1`.
 *
 * @param seconds of the epoch.
 */
export function signedHeaders(
  { secrets, signingKey }: SigningKeys,
  { id, seconds, body }: { id: string; seconds: number; body: string },
): Record<string, string> {
  const content = Buffer.from(`${id}.${seconds}.${body}`);
  const signatures = secrets.map((secret) => `v1,${createHmac("sha256", secret).update(content).digest("base64")}`);
  if (signingKey) {
    const key = createPrivateKey({ key: signingKey, format: "der", type: "pkcs8" });
    signatures.push(`v1a,${sign(null, content, key).toString("base64")}`);
  }
  return { "webhook-id": id, "webhook-timestamp": String(seconds), "webhook-signature": signatures.join(" ") };
}

const [ivBytes, tagBytes] = [12, 16];

/** Encrypts a secret for the database: an attacker with the tables but without the pepper cannot sign. */
export function seal(secret: Buffer, pepper: string): Buffer {
  const iv = randomBytes(ivBytes);
  const cipher = createCipheriv("aes-256-gcm", sealingKey(pepper), iv);
  return Buffer.concat([iv, cipher.update(secret), cipher.final(), cipher.getAuthTag()]);
}

/** @throws Error when it was sealed under another pepper. */
export function unseal(sealed: Buffer, pepper: string): Buffer {
  const decipher = createDecipheriv("aes-256-gcm", sealingKey(pepper), sealed.subarray(0, ivBytes));
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  return Buffer.concat([decipher.update(sealed.subarray(ivBytes, -tagBytes)), decipher.final()]);
}

function sealingKey(pepper: string): Buffer {
  return Buffer.from(hkdfSync("sha256", pepper, "", "mintyard webhook secrets", 32));
}
