import { expect, test } from "vitest";
import { redact } from "../../src/telemetry/log.ts";

test("tokens and logins are left out wherever they stand, and what only begins like one stays", () => {
  const token = `eyJhbGciOiJI.${"p".repeat(20)}.s-_g`;
  expect(redact(`a=${token}, x.${token} prefix${token} ${token}`, [])).toBe("a=[jwt], x.[jwt] prefix[jwt] [jwt]");
  for (const text of ["eyJ", "eyJshort.pppppppp.s", "eyJhbGciOiJI.short.s", "eyJhbGciOiJI.pppppppp", "eyJeyJeyJeyJeyJ"])
    expect(redact(text, [])).toBe(text);
  expect(redact("postgres://u:p@db/x redis://me@h", [])).toBe("postgres://[login]@db/x redis://[login]@h");
});

const shapes = [
  "a",
  "a+.-",
  "eyJaaaaaaaa",
  "eyJaaaaaaaa.",
  "http://",
  "x://a",
  "mty_live_",
  "password  ",
  "key= ",
  "token:'",
];
test.each(shapes)("a long line of %j costs no more than in proportion to its length", (shape) => {
  const line = shape.repeat(Math.ceil(200_000 / shape.length));
  const { user } = process.cpuUsage();
  redact(line, []);
  // Processor time, so that a busy machine does not decide. In the square of the length it is many times that.
  expect((process.cpuUsage().user - user) / 1_000).toBeLessThan(1_500);
});
