const c1 = 0x87c37b91114253d5n;
const c2 = 0x4cf5ad432745937fn;

const word = (value: bigint) => BigInt.asUintN(64, value);
const rotate = (value: bigint, bits: bigint) => word((value << bits) | (value >> (64n - bits)));
const scramble1 = (k: bigint) => word(rotate(word(k * c1), 31n) * c2);
const scramble2 = (k: bigint) => word(rotate(word(k * c2), 33n) * c1);

function finish(h: bigint): bigint {
  let k = word((h ^ (h >> 33n)) * 0xff51afd7ed558ccdn);
  k = word((k ^ (k >> 33n)) * 0xc4ceb9fe1a85ec53n);
  return k ^ (k >> 33n);
}

/**
 * The first 64 bits of MurmurHash3 x64 128 with seed 0: what places a name in a sharded directory of UnixFS.
 * Source: MurmurHash3.cpp by Austin Appleby (public domain), multihash 0x22.
 */
export function murmur64(bytes: Buffer): bigint {
  let h1 = 0n;
  let h2 = 0n;
  let at = 0;
  for (; at + 16 <= bytes.length; at += 16) {
    h1 ^= scramble1(bytes.readBigUInt64LE(at));
    h1 = word((rotate(h1, 27n) + h2) * 5n + 0x52dce729n);
    h2 ^= scramble2(bytes.readBigUInt64LE(at + 8));
    h2 = word((rotate(h2, 31n) + h1) * 5n + 0x38495ab5n);
  }
  if (at < bytes.length) {
    const rest = Buffer.alloc(16);
    bytes.copy(rest, 0, at);
    h1 ^= scramble1(rest.readBigUInt64LE(0));
    h2 ^= scramble2(rest.readBigUInt64LE(8));
  }
  const length = BigInt(bytes.length);
  h1 = word((h1 ^ length) + (h2 ^ length));
  h2 = word((h2 ^ length) + h1);
  return word(finish(h1) + finish(h2));
}
