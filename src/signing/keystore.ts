import { createDecipheriv, scryptSync, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";
import type { Hex } from "viem";
import { bytesToHex, keccak256 } from "viem/utils";
import { z } from "zod";

const hexText = z.string().regex(/^[0-9a-f]+$/i);
const keystoreFile = z.object({
  version: z.literal(3),
  crypto: z.object({
    cipher: z.literal("aes-128-ctr"),
    cipherparams: z.object({ iv: hexText }),
    ciphertext: hexText,
    kdf: z.literal("scrypt"),
    kdfparams: z.object({
      n: z.int().positive(),
      r: z.int().positive(),
      p: z.int().positive(),
      dklen: z.literal(32),
      salt: hexText,
    }),
    mac: hexText.length(64),
  }),
});

/** The private keys of V3 key files, each with its password in another file. @throws Error as `decryptKeystore`. */
export function openKeystores(files: readonly { path: string; passwordFile: string }[]): Hex[] {
  return files.map(({ path, passwordFile }) => {
    const password = readFileSync(passwordFile, "utf8").replace(/\r?\n$/, "");
    return decryptKeystore(readFileSync(path, "utf8"), password);
  });
}

/**
 * The private key in a V3 key file (Web3 Secret Storage, scrypt).
 *
 * @throws Error for another format or a wrong password; its text contains neither key nor password.
 */
export function decryptKeystore(json: string, password: string): Hex {
  const parsed = keystoreFile.safeParse(readJson(json));
  if (!parsed.success) throw new Error("not a V3 key file with scrypt and aes-128-ctr");
  const { ciphertext, cipherparams, kdfparams, mac } = parsed.data.crypto;
  const { n, r, p, dklen, salt } = kdfparams;
  // Node's default limit is 32 MiB; key files commonly need 256.
  const options = { N: n, r, p, maxmem: 256 * n * r };
  const derived = scryptSync(Buffer.from(password, "utf8"), Buffer.from(salt, "hex"), dklen, options);
  const sealed = Buffer.from(ciphertext, "hex");
  const expected = Buffer.from(keccak256(Buffer.concat([derived.subarray(16, 32), sealed]), "bytes"));
  if (!timingSafeEqual(expected, Buffer.from(mac, "hex"))) throw new Error("the password does not open the key file");
  const decipher = createDecipheriv("aes-128-ctr", derived.subarray(0, 16), Buffer.from(cipherparams.iv, "hex"));
  return bytesToHex(Buffer.concat([decipher.update(sealed), decipher.final()]));
}

function readJson(text: string): unknown {
  try {
    // Some tools write `Crypto`.
    const value = JSON.parse(text) as Record<string, unknown>;
    return { ...value, crypto: value["crypto"] ?? value["Crypto"] };
  } catch {
    return null;
  }
}
