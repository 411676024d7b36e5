import { existsSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mostProcessBytes } from "../../src/thumbnails/bounds.ts";
import { PictureMaker } from "../../src/thumbnails/picture-maker.ts";
import { exhaustingPictures, plain } from "./pictures.ts";

const small = async () => await plain(300, 300).png().toBuffer();

test("what would take all memory or time takes its share, and the next picture has its preview", async () => {
  const maker = new PictureMaker();
  for (const [name, fate, bytes] of exhaustingPictures()) {
    const made = await maker.make(bytes, 256);
    expect([name, "bytes" in made || made.refused !== ""]).toEqual([name, true]);
    if (fate === "refused") expect([name, made]).toEqual([name, { refused: expect.any(String), forNow: false }]);
    expect("bytes" in (await maker.make(await small(), 128))).toBe(true);
  }
  maker.close();
});

test.skipIf(!existsSync("/proc/self/limits"))(
  "the kernel gives the process no more memory than its bound",
  async () => {
    const maker = new PictureMaker();
    await maker.make(await small(), 128);
    const limits = readFileSync(`/proc/${maker.pid}/limits`, "utf8");
    const [, soft, hard] = /^Max data size +(\d+) +(\d+)/m.exec(limits) ?? [];
    expect([Number(soft), Number(hard)]).toEqual([2 * mostProcessBytes, 2 * mostProcessBytes]);
    maker.close();
  },
);
