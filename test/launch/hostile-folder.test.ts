import { appendFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { checkArtwork } from "../../bin/launch/check-artwork.ts";
import { Journal } from "../../bin/launch/journal.ts";
import { askAbout, findOutside } from "../../bin/launch/outside.ts";
import { readFolder } from "../../bin/launch/read-folder.ts";
import { readSettings, type SettingsInput } from "../../bin/launch/settings.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { makeArtwork } from "./artwork.ts";

// A folder that came from anywhere, with a journal beside it.

let dir: string;
let folder: string;
beforeEach(() => {
  dir = temporaryFolder();
  folder = join(dir, "art");
  vi.stubEnv("XDG_CONFIG_HOME", join(dir, "config"));
});

async function make(settings: Partial<SettingsInput> = {}): Promise<void> {
  await makeArtwork(folder, { count: 2, seed: 1, settings });
}

async function outside(allowed: readonly string[] = []) {
  return await findOutside(folder, await readSettings(folder), await readFolder(folder), allowed);
}

const later = (image: string) => ({ reveal: "later" as const, placeholder: { name: "Not yet", image } });

test("files that are really elsewhere are named with their folder, whatever leads there", async () => {
  await make();
  expect(await outside()).toEqual([]);
  const home = join(dir, "home");
  mkdirSync(home);
  writeFileSync(join(home, "secret.txt"), "secret");
  await make(later("../home/secret.txt"));
  expect(await outside()).toEqual([{ real: home, paths: ["../home/secret.txt"] }]);
  await make(later(join(home, "secret.txt")));
  // A path from the root is one below the folder, as everywhere in launch.json.
  expect(await outside()).toEqual([]);
  symlinkSync(join(home, "secret.txt"), join(folder, "shown.png"));
  await make({ ...later("shown.png"), allowlist: "../home/secret.txt", presaleMintStart: "2035-01-01T00:00:00Z" });
  expect(await outside()).toEqual([{ real: home, paths: ["../home/secret.txt", "shown.png"] }]);
});

test("documents and pictures behind links are asked about by their real folders, and may be there where that was said", async () => {
  await make();
  const store = join(dir, "store");
  cpSync(join(folder, "images"), store, { recursive: true });
  symlinkSync(store, join(folder, "more"));
  for (const id of [2, 3]) {
    symlinkSync(join(store, `${id - 2}.png`), join(folder, "images", `${id}.png`));
    writeFileSync(join(store, `${id}.json`), JSON.stringify({ name: "n", attributes: [], image: `${id}.png` }));
    symlinkSync(join("../more", `${id}.json`), join(folder, "metadata", `${id}.json`));
  }
  const found = await outside();
  const paths = ["metadata/2.json", "metadata/3.json", "images/2.png", "images/3.png"];
  expect(found).toEqual([{ real: store, paths }]);
  expect(askAbout(found)).toEqual({
    question: expect.stringContaining(`${store} (4: metadata/2.json, metadata/3.json, images/2.png and 1 more)`),
    option: `--files-from "${store}"`,
  });
  expect(await outside([store])).toEqual([]);
  expect(await outside([join(dir, "sto")])).toEqual(found);
  // The folder itself may be a link.
  symlinkSync(folder, join(dir, "link"));
  folder = join(dir, "link");
  expect(await outside([store])).toEqual([]);
});

test("a placeholder is a picture by its bytes, not by its name", async () => {
  await make(later("placeholder.txt"));
  const check = async () =>
    (await checkArtwork(folder, await readFolder(folder), await readSettings(folder), 1_000_000)).errors;
  writeFileSync(join(folder, "placeholder.txt"), "no picture");
  expect(await check()).toEqual([expect.stringContaining("placeholder.txt, which is no picture")]);
  cpSync(join(folder, "images/0.png"), join(folder, "placeholder.txt"));
  expect(await check()).toEqual([]);
});

const begun = { step: "begun", at: "2026-01-01T00:00:00Z", id: "i", service: "s", account: "a" } as const;
const verified = { step: "verified", at: "2026-01-01T00:00:00Z" } as const;
const path = () => `${folder}.launch.jsonl`;
const isOwn = () => {
  const journal = Journal.open(folder);
  journal.close();
  return journal.isOwn;
};
const write = (...steps: (typeof begun | typeof verified)[]) => {
  const journal = Journal.open(folder);
  for (const step of steps) journal.write(step);
  journal.close();
};

test("a journal is this user's as far as its last line was written by them, and no line before it was changed", () => {
  write(begun);
  write(verified);
  expect(isOwn()).toBe(true);
  const own = readFileSync(path(), "utf8");
  for (const changed of [
    own.replace('"id":"i"', '"id":"j"'),
    own.split("\n").slice(1).join("\n"),
    own.split("\n").slice(0, 2).reverse().concat("").join("\n"),
    `${own}${JSON.stringify(verified)}\n`,
    `${own}${own.split("\n")[1]}\n`,
    own.replaceAll(/,"code":"\w+"/g, ""),
  ]) {
    writeFileSync(path(), changed);
    expect([changed, isOwn()]).toEqual([changed, false]);
  }
  // What is written after the person has answered speaks for all of it.
  write(verified);
  expect(isOwn()).toBe(true);
  // Half a line, as after a kill, is none.
  appendFileSync(path(), '{"step":"verif');
  expect(isOwn()).toBe(true);
  // Another user, or another machine.
  vi.stubEnv("XDG_CONFIG_HOME", join(dir, "other"));
  expect(isOwn()).toBe(false);
});

test("without a place for a key nothing can be shown, and a journal that is a link is not written through", () => {
  writeFileSync(join(dir, "file"), "");
  vi.stubEnv("XDG_CONFIG_HOME", join(dir, "file"));
  write(begun);
  expect(isOwn()).toBe(false);
  folder = join(dir, "linked");
  symlinkSync(join(dir, "target"), path());
  expect(() => Journal.open(folder)).toThrow("is a link");
});
