import {
  chmodSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { createLogger } from "../../src/telemetry/log.ts";
import { LogOnce } from "../../src/telemetry/log-once.ts";
import { answers, frameHeader, readFrames } from "../../src/thumbnails/frames.ts";
import { ThumbnailCache } from "../../src/thumbnails/thumbnail-cache.ts";
import { Thumbnails } from "../../src/thumbnails/thumbnails.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";

const logOnce = new LogOnce(createLogger("test", "silent", []));
let folder: string;
beforeEach(() => {
  folder = join(temporaryFolder(), "thumbnails");
});

const open = (more: Partial<ConstructorParameters<typeof ThumbnailCache>[0]> = {}) =>
  new ThumbnailCache({ folder, mostBytes: 1_048_576, hasRoom: async () => true, logOnce, ...more });

function files(): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile());
}
const onDisk = () => files().reduce((sum, path) => sum + Math.ceil(statSync(path).size / 4_096) * 4_096, 0);

test("what is kept is there for another process", async () => {
  await open().put("a", Buffer.from("preview"));
  expect(String(await open().get("a"))).toBe("preview");
  expect(await open().get("b")).toBeNull();
});

test("the files never take more than the bound, and those go that were used longest ago", async () => {
  const cache = open();
  const bytes = Buffer.alloc(12_000, 7);
  for (let at = 0; at < 300; at += 1) {
    await cache.put(`picture ${at}`, bytes);
    expect(onDisk()).toBeLessThanOrEqual(1_048_576);
  }
  expect(onDisk()).toBeGreaterThan(1_048_576 / 2);
  const other = temporaryFolder();
  const small = new ThumbnailCache({ folder: other, mostBytes: 65_536, hasRoom: async () => true, logOnce });
  for (let at = 0; at < 8; at += 1) await small.put(`old ${at}`, Buffer.alloc(3_000, at));
  const day = new Date(Date.now() - 86_400_000);
  for (const name of readdirSync(other, { recursive: true, encoding: "utf8" })) utimesSync(join(other, name), day, day);
  const again = new ThumbnailCache({ folder: other, mostBytes: 65_536, hasRoom: async () => true, logOnce });
  expect(await again.get("old 3")).not.toBeNull();
  for (let at = 0; at < 13; at += 1) await again.put(`new ${at}`, Buffer.alloc(3_000, at));
  const last = new ThumbnailCache({ folder: other, mostBytes: 65_536, hasRoom: async () => true, logOnce });
  expect(await last.get("old 3")).not.toBeNull();
  expect(await last.get("old 0")).toBeNull();
});

test("a file that is cut off anywhere, or changed, is none and goes", async () => {
  for (const length of [0, 1, 31, 32, 33, 100, 1_031]) {
    await open().put("a", Buffer.alloc(1_000, 5));
    const [path = ""] = files();
    truncateSync(path, Math.min(length, statSync(path).size - 1));
    expect([length, await open().get("a"), files()]).toEqual([length, null, []]);
  }
  await open().put("a", Buffer.alloc(1_000, 5));
  const [path = ""] = files();
  writeFileSync(path, readFileSync(path).fill(6, 500, 501));
  expect(await open().get("a")).toBeNull();
});

test("what a killed process left half written goes with the next count, and what another one writes stays", async () => {
  await open().put("a", Buffer.alloc(10));
  const [old, young] = [join(folder, "00"), join(folder, "01")].map((part) => {
    mkdirSync(part, { recursive: true });
    return join(part, "x.part");
  }) as [string, string];
  for (const path of [old, young]) writeFileSync(path, "half");
  const hour = new Date(Date.now() - 3_600_000);
  utimesSync(old, hour, hour);
  await open().put("b", Buffer.alloc(10));
  expect([files().includes(old), files().includes(young)]).toEqual([false, true]);
});

test("where nothing can be written, what was made is still there for a while", async () => {
  const full = open({ hasRoom: async () => false });
  await full.put("a", Buffer.from("preview"));
  expect([String(await full.get("a")), await open().get("a")]).toEqual(["preview", null]);
  mkdirSync(folder);
  chmodSync(folder, 0o500);
  writeFileSync(join(folder, "..", "file"), "");
  const closed = open({ folder: join(folder, "..", "file") });
  await closed.put("a", Buffer.from("preview"));
  expect(String(await closed.get("a"))).toBe("preview");
});

test("a queue that is full, of one client or all, is said at once", async () => {
  const thumbnails = new Thumbnails({ folder, mostBytes: 1_048_576, hasRoom: async () => true, logOnce });
  const { promise: never } = Promise.withResolvers<never>();
  const picture = (name: string) => ({
    ...{ id: name, size: 10 },
    async *stream() {
      yield await never;
    },
  });
  const ask = (name: string, client: string) => thumbnails.make(picture(name), 128, client);
  // Two are read, and 64 wait.
  const first = Array.from({ length: 66 }, (_, at) => ask(`a ${at}`, "a"));
  // Each of them has looked at the disk before it waits.
  await Promise.all(first.map((one) => Promise.race([one, new Promise((done) => setTimeout(done, 100))])));
  const started = performance.now();
  expect(await ask("a of too much", "a")).toBe("busy");
  expect(performance.now() - started).toBeLessThan(5_000);
  const others = ["b", "c", "d"].flatMap((client) =>
    Array.from({ length: 64 }, (_, at) => ask(`${client} ${at}`, client)),
  );
  await Promise.race([Promise.all(others), new Promise((done) => setTimeout(done, 500))]);
  expect(await ask("one more", "e")).toBe("busy");
  // Those that wait get the picture itself before their visitors give up.
  expect(new Set(await Promise.all(first))).toEqual(new Set(["busy"]));
});

test("frames come whole in whatever pieces they come, and one that is cut off anywhere is none", async () => {
  const frame = (word: number, text: string) => Buffer.concat([frameHeader(word, text.length), Buffer.from(text)]);
  const sent = Buffer.concat([frame(answers.ready, ""), frame(answers.made, "preview"), frame(7, "x".repeat(50))]);
  const ends = [8, 23, 81];
  for (let cut = 0; cut <= sent.length; cut += 1) {
    for (const size of [1, 7, 100]) {
      const pieces = async function* () {
        for (let at = 0; at < cut; at += size) yield sent.subarray(at, Math.min(at + size, cut));
      };
      const read: string[] = [];
      for await (const { word, bytes } of readFrames(pieces(), 100)) read.push(`${word} ${bytes}`);
      const whole = ends.filter((end) => end <= cut).length;
      expect(read).toEqual([`0 `, "1 preview", `7 ${"x".repeat(50)}`].slice(0, whole));
    }
  }
  const large = async function* () {
    yield frameHeader(1, 101);
  };
  await expect(readFrames(large(), 100).next()).rejects.toThrow("100 are the most");
});
