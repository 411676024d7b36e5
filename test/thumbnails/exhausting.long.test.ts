import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { mostProcessBytes } from "../../src/thumbnails/bounds.ts";
import { PictureMaker } from "../../src/thumbnails/picture-maker.ts";
import { exhaustingPictures, plain } from "./pictures.ts";

/** Most memory that a process had at any time, in bytes; null where it is gone, or not on Linux. */
function peakOf(pid: number | undefined): number | null {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) * 1_024;
  } catch {
    return null;
  }
}

test("what would take all memory or time takes its share, and the next picture has its preview", async () => {
  const maker = new PictureMaker();
  for (const [name, fate, bytes] of exhaustingPictures()) {
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, peakOf(maker.pid) ?? 0);
    }, 20);
    const made = await maker.make(bytes, 256);
    clearInterval(watch);
    expect([name, "bytes" in made || made.refused !== ""]).toEqual([name, true]);
    if (fate === "refused") expect([name, made]).toEqual([name, { refused: expect.any(String), forNow: false }]);
    // Its own watch may be late; the limit that the kernel keeps is below this.
    expect([name, peak < 2 * mostProcessBytes]).toEqual([name, true]);
    expect("bytes" in (await maker.make(await plain(300, 300).png().toBuffer(), 128))).toBe(true);
  }
  maker.close();
});
