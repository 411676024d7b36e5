import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { drawImage } from "../../bin/demo-images.ts";
import type { SettingsInput } from "../../bin/launch/settings.ts";

export const wallet = "0x25D5bf305aA1FbD778B05Aaa454405D0094Cfa96";

export interface ArtworkOptions {
  count: number;
  /** Makes the pictures unlike those of other tests. */
  seed: number;
  settings?: Partial<SettingsInput>;
}

/** A folder as a creator would have it: pictures, documents with placeholder links, and launch.json. */
export async function makeArtwork(folder: string, { count, seed, settings = {} }: ArtworkOptions): Promise<void> {
  await Promise.all(["images", "metadata"].map((name) => mkdir(join(folder, name), { recursive: true })));
  for (let id = 0; id < count; id += 1) {
    // Bytes after the end of a PNG are part of the file, not of the picture.
    const bytes = Buffer.concat([drawImage(id, 32), Buffer.from(`${seed}/${id}`)]);
    await writeFile(join(folder, "images", `${id}.png`), bytes);
    const attributes = [{ trait_type: "Parity", value: id % 2 === 0 ? "even" : "odd" }];
    const document = {
      name: `Yard #${id}`,
      description: "One of some.",
      image: `ipfs://NewUriToReplace/${id}.png`,
      attributes,
    };
    await writeFile(join(folder, "metadata", `${id}.json`), JSON.stringify(document));
  }
  const whole: SettingsInput = {
    chain: "goerli",
    name: `Launched ${seed}`,
    symbol: "LCH",
    owner: wallet,
    treasury: wallet,
    price: "0.01",
    tokensPerMint: 2,
    publicMintStart: "2036-01-01T00:00:00Z",
    ...settings,
  };
  await writeFile(join(folder, "launch.json"), JSON.stringify(whole));
}
