import { createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { openCursor, sealCursor } from "../../src/db/cursor.ts";

test("a cursor carries HMAC-SHA-256 of list and position, as Node's own makes it, for keys of every length", () => {
  for (const length of [1, 31, 63, 64, 65, 200]) {
    const secret = "é".repeat(length).slice(0, length);
    const position = Buffer.from(`position ${length}`);
    const mac = createHmac("sha256", secret).update("cursor\0").update("list:ü").update("\0").update(position).digest();
    const cursor = sealCursor(secret, "list:ü", position);
    expect(cursor).toBe(Buffer.concat([position, mac.subarray(0, 16)]).toString("base64url"));
    expect(openCursor(secret, "list:ü", cursor, position.length)).toEqual(position);
    expect(() => openCursor(secret, "list:u", cursor, position.length)).toThrow("start again");
  }
});
