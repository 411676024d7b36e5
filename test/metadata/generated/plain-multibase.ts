/*
 * CIDs in every base of multibase, by the alphabets of its table and arithmetic: the product reads them with multiformats.
 * Sources: multiformats/multibase, multiformats/cid.
 */

const digits = "0123456789";
const lower = "abcdefghijklmnopqrstuvwxyz";
const upper = lower.toUpperCase();
const bitcoin = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
const flickr = "123456789abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ";
const base32 = `${lower}234567`;
const base32hex = `${digits}${lower.slice(0, 22)}`;
const base64 = `${upper}${lower}${digits}`;

/** Bases whose digits are so many bits each. */
const ofBits: Record<string, [alphabet: string, bits: number]> = {
  ...{ "0": ["01", 1], "7": ["01234567", 3], f: [`${digits}abcdef`, 4], F: [`${digits}ABCDEF`, 4] },
  ...{ b: [base32, 5], c: [base32, 5], B: [base32.toUpperCase(), 5], C: [base32.toUpperCase(), 5] },
  ...{ v: [base32hex, 5], t: [base32hex, 5], V: [base32hex.toUpperCase(), 5], T: [base32hex.toUpperCase(), 5] },
  ...{ h: ["ybndrfg8ejkmcpqxot1uwisza345h769", 5] },
  ...{ m: [`${base64}+/`, 6], M: [`${base64}+/`, 6], u: [`${base64}-_`, 6], U: [`${base64}-_`, 6] },
};
/** Bases that are numbers. */
const ofNumbers: Record<string, string> = {
  ...{ "9": digits, k: `${digits}${lower}`, K: `${digits}${upper}`, z: bitcoin, Z: flickr },
};

function fromBits(text: string, alphabet: string, bits: number): Uint8Array | null {
  const bytes: number[] = [];
  let held = 0;
  let value = 0;
  for (const character of text.replace(/=+$/, "")) {
    const digit = alphabet.indexOf(character);
    if (digit < 0) return null;
    value = ((value << bits) | digit) & 0xffff;
    held += bits;
    if (held < 8) continue;
    held -= 8;
    bytes.push((value >> held) & 0xff);
  }
  return Uint8Array.from(bytes);
}

function fromNumber(text: string, alphabet: string): Uint8Array | null {
  let value = 0n;
  for (const character of text) {
    const digit = alphabet.indexOf(character);
    if (digit < 0) return null;
    value = value * BigInt(alphabet.length) + BigInt(digit);
  }
  const hex = value.toString(16);
  const bytes = Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex");
  const zeros = /^(.)\1*/.exec(text)?.[0] ?? "";
  return Buffer.concat([Buffer.alloc(zeros[0] === alphabet[0] ? zeros.length : 0), bytes]);
}

/** The CID in a text as the hex digits of its version 1; null for a text that is none. */
export function cidOf(text: string): string | null {
  if (/^Qm[1-9A-HJ-NP-Za-km-z]{44}$/.test(text)) {
    const hash = fromNumber(text, bitcoin);
    return hash && hash.length === 34 ? `0170${Buffer.from(hash).toString("hex")}` : null;
  }
  const prefix = text[0] ?? "";
  const [alphabet = "", bits = 0] = ofBits[prefix] ?? [];
  const bytes = bits ? fromBits(text.slice(1), alphabet, bits) : fromNumber(text.slice(1), ofNumbers[prefix] ?? "");
  // Version 1, any codec, sha2-256: the only hashes that are generated.
  const hex = bytes && Buffer.from(bytes).toString("hex");
  return hex && /^01(?:[0-7].|[89a-f].0[1-9a-f])1220[0-9a-f]{64}$/.test(hex) ? hex : null;
}

/** In base 32, as content is shown. */
export function base32Of(hex: string): string {
  let bits = [...Buffer.from(hex, "hex")].map((byte) => byte.toString(2).padStart(8, "0")).join("");
  bits = bits.padEnd(Math.ceil(bits.length / 5) * 5, "0");
  return `b${bits.replaceAll(/.{5}/g, (five) => base32[Number.parseInt(five, 2)] as string)}`;
}
