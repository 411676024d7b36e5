// Previews of 512 pixels per second by one process, and its peak memory: node bench/thumbnails/bench-thumbnails.ts [count] [png|jpeg|webp…]
// Without a format, also previews of as many linked pictures, with the CPU time of the service's own process.
import { fork } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { LinkedPictures } from "../../src/metadata/pictures/linked-pictures.ts";
import { createFetcher } from "../../src/outbound/fetcher.ts";
import { createLogger } from "../../src/telemetry/log.ts";
import { LogOnce } from "../../src/telemetry/log-once.ts";
import { PictureMaker } from "../../src/thumbnails/picture-maker.ts";
import { Thumbnails } from "../../src/thumbnails/thumbnails.ts";

const side = 2_048;
const servingWord = "serve";
const [word = "40", ...formats] = process.argv.slice(2);

/** Soft noise over a gradient, like digital art: a PNG of some megabytes. */
async function drawn(): Promise<sharp.Sharp> {
  const gaussian = { type: "gaussian", mean: 128, sigma: 12 } as const;
  const base = sharp({ create: { width: side, height: side, channels: 3, background: "#000", noise: gaussian } });
  const gradient = Buffer.from(
    `<svg width="${side}" height="${side}"><linearGradient id="g"><stop stop-color="#205080"/><stop offset="1" stop-color="#f0a030"/></linearGradient><rect width="100%" height="100%" fill="url(#g)" opacity="0.7"/></svg>`,
  );
  return sharp(
    await base
      .composite([{ input: gradient }])
      .png()
      .toBuffer(),
  );
}

/** Each link has a different file: bytes after a PNG's end are ignored but change the file. */
async function serve(): Promise<void> {
  const picture = await (await drawn()).png().toBuffer();
  const server = createServer(({ url = "" }, response) => response.end(Buffer.concat([picture, Buffer.from(url)])));
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
}

/** CPU time of a process so far. */
function processorMs(pid: number | undefined): number {
  const ticks = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(ticks[11]) + Number(ticks[12])) * 10;
}

function peakMiB(pid: number | undefined): number {
  const peak = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Math.round(Number(peak) / 1_024);
}

async function measureFormats(count: number): Promise<void> {
  const art = await drawn();
  const pictures = {
    png: await art.clone().png().toBuffer(),
    jpeg: await art.clone().jpeg({ quality: 90 }).toBuffer(),
    webp: await art.clone().webp().toBuffer(),
  };
  for (const [name, bytes] of Object.entries(pictures)) {
    if (formats.length > 0 && !formats.includes(name)) continue;
    const maker = new PictureMaker();
    await maker.make(bytes, 512);
    // A process ends after 500 pictures, and an earlier one's figures can no longer be read.
    let [used, peak] = [0, 0];
    const started = performance.now();
    for (let at = 0; at < count; at += 1) {
      const { pid } = maker;
      const before = pid === undefined ? 0 : processorMs(pid);
      await maker.make(bytes, 512);
      if (maker.pid !== pid || pid === undefined) continue;
      used += processorMs(pid) - before;
      if (at % 20 === 19 || at === count - 1) peak = Math.max(peak, peakMiB(pid));
    }
    const [ms, processor] = [(performance.now() - started) / count, used / count];
    console.log(
      `${name} ${(bytes.length / 2 ** 20).toFixed(1)} MiB, ${count} previews: ${ms.toFixed(0)} ms each, ${processor.toFixed(0)} ms of the processor: ` +
        `${(1_000 / processor).toFixed(1)} a second and core; most memory ${peak} MiB; load ${loadavg()[0]?.toFixed(1)}`,
    );
    maker.close();
  }
}

async function measureLinks(count: number): Promise<void> {
  const server = fork(import.meta.filename, [servingWord]);
  const port = await new Promise((ready) => server.once("message", ready));
  const folder = mkdtempSync(join(tmpdir(), "mintyard-previews-"));
  const logOnce = new LogOnce(createLogger("bench", "silent", []));
  const thumbnails = new Thumbnails({ folder, mostBytes: 2 ** 30, hasRoom: async () => true, logOnce });
  const links = new LinkedPictures(thumbnails, createFetcher({ allowPrivate: true }));
  const paid = { bytes: 0 };
  const ask = async (at: number) => {
    const asking = { client: "a", paid: (bytes: number) => (paid.bytes += bytes) };
    for (;;) {
      const made = await links.make(`http://127.0.0.1:${port}/${at}`, 512, asking);
      if (made !== "busy" && "bytes" in made) return;
      if (made !== "busy") throw new Error(made.refused);
    }
  };
  await ask(-1);
  paid.bytes = 0;
  const [started, used] = [performance.now(), process.cpuUsage()];
  let next = 0;
  const askers = Array.from({ length: 4 }, async () => {
    for (let at = next++; at < count; at = next++) await ask(at);
  });
  await Promise.all(askers);
  const { user, system } = process.cpuUsage(used);
  const ms = (performance.now() - started) / count;
  const own = (user + system) / 1_000;
  console.log(
    `png at links, ${count} previews: ${ms.toFixed(0)} ms each; the service's own process ${(own / count).toFixed(1)} ms each, ` +
      `${(own / (paid.bytes / 2 ** 20)).toFixed(2)} ms a MiB, most memory ${peakMiB(process.pid)} MiB, the picture process ${peakMiB(thumbnails.pid)} MiB`,
  );
  thumbnails.close();
  await links.close();
  server.kill();
  rmSync(folder, { recursive: true, force: true });
}

if (word === servingWord) await serve();
else {
  if (formats.length === 0) await measureLinks(Number(word));
  await measureFormats(Number(word));
}
