import { createHash } from "node:crypto";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { etagOf, matchesEtag } from "../../src/http/etag.ts";
import { JsonText } from "../../src/json/json-text.ts";

test("texts of one length and one check sum have different ETags", () => {
  const [one, other] = ["plumless", "buckeroo"] as const;
  expect([one.length, crc32(one)]).toEqual([other.length, crc32(other)]);
  expect(etagOf(new JsonText().add(one))).not.toBe(etagOf(new JsonText().add(other)));
});

test("an ETag is strong, and that of the bytes: however many pieces they come in", () => {
  const text = '{"name":"Zoë"}';
  const whole = etagOf(new JsonText().add(text));
  expect(whole).toBe(`"${createHash("sha256").update(text).digest("base64url").slice(0, 22)}"`);
  for (const cut of [1, 9, 12, 13]) {
    const bytes = Buffer.from(text);
    expect(etagOf(new JsonText([bytes.subarray(0, cut), bytes.subarray(cut)]))).toBe(whole);
  }
  expect(
    etagOf(
      new JsonText()
        .add('{"name":')
        .add(new JsonText([Buffer.from('"Zoë"')]))
        .add("}"),
    ),
  ).toBe(whole);
  expect([matchesEtag(whole, whole), matchesEtag(`W/${whole}`, whole), matchesEtag('"other"', whole)]).toEqual([
    true,
    true,
    false,
  ]);
});
