import { randomBytes } from "node:crypto";
import { appendFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { makeArtwork } from "../../test/launch/artwork.ts";

/** A folder of pictures with documents; all pictures have the same number of bytes and different content. */
export async function makeFolder(folder: string, count: number, bytesEach: number): Promise<void> {
  await makeArtwork(folder, { count, seed: Date.now() });
  for (let id = 0; id < count; id += 1) {
    const path = join(folder, "images", `${id}.png`);
    const { size } = await stat(path);
    await appendFile(path, randomBytes(Math.max(0, bytesEach - size)));
  }
}
