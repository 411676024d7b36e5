import { expect, test } from "vitest";
import { writeWhole } from "../../src/db/admin/copy-table.ts";

test("a write that takes less than it was given goes on where it ended, and one that takes nothing fails", () => {
  const bytes = Buffer.from("0123456789".repeat(100));
  const taken: Uint8Array[] = [];
  writeWhole(0, bytes, (_file, given, offset, length) => {
    const part = given.subarray(offset, offset + Math.min(length, 7));
    taken.push(part);
    return part.length;
  });
  expect(Buffer.concat(taken).equals(bytes)).toBe(true);
  expect(() => writeWhole(0, bytes, () => 0)).toThrow("0 of 1000 bytes");
});
