import { realpath } from "node:fs/promises";
import { dirname, join, relative, resolve, sep } from "node:path";
import { filesToUpload } from "./check-artwork.ts";
import { type Artwork, listed } from "./read-folder.ts";
import { type Settings, settingsFile } from "./settings.ts";

/** A folder outside the launch's own, and the launch's files that are really there. */
export interface Outside {
  real: string;
  paths: string[];
}

/**
 * Where files of a launch really are if that is outside its folder: behind symbolic links, or by names such as
 * `../a.png`. The author of the folder decides what is published, so a person has to confirm that these files are
 * meant.
 *
 * @param allowed folders that the person has already allowed.
 */
export async function findOutside(
  folder: string,
  settings: Settings,
  artwork: Artwork,
  allowed: readonly string[],
): Promise<Outside[]> {
  const { allowlist, placeholder, reveal } = settings;
  const image = reveal === "later" ? placeholder?.image : undefined;
  const named = [settingsFile, allowlist, image].filter((path) => path !== undefined);
  const paths = [...named, ...artwork.tokens.map(({ document }) => document), ...filesToUpload(artwork.tokens)];
  const homes = await Promise.all([folder, ...allowed].map(realOf));
  const found = new Map<string, string[]>();
  for (const path of paths) {
    const real = await realOf(join(folder, path));
    if (homes.some((home) => isWithin(home, real))) continue;
    const place = dirname(real);
    found.set(place, [...(found.get(place) ?? []), path]);
  }
  return [...found].map(([real, inside]) => ({ real, paths: inside }));
}

/** The question to ask about them, and the option that answers it. */
export function askAbout(outside: readonly Outside[]): { question: string; option: string } {
  const lines = outside.map(({ real, paths }) => `  ${real} (${paths.length}: ${listed(paths, 3)})`);
  const question = `The folder takes files from elsewhere, which would be published:\n${lines.join("\n")}\nAre they meant?`;
  return { question, option: outside.map(({ real }) => `--files-from ${JSON.stringify(real)}`).join(" ") };
}

/** A missing file counts as being where its name says; the code that needs it reports that it is missing. */
async function realOf(path: string): Promise<string> {
  return await realpath(path).catch(() => resolve(path));
}

function isWithin(folder: string, path: string): boolean {
  const below = relative(folder, path);
  return below === "" || (below !== ".." && !below.startsWith(`..${sep}`) && resolve(folder, below) === path);
}
