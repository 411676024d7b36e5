// Previews of 512 pixels a second by one process, and the most memory that it had: node bench/thumbnails/bench-thumbnails.ts
import { readFileSync } from "node:fs";
import { loadavg } from "node:os";
import sharp from "sharp";
import { PictureMaker } from "../../src/thumbnails/picture-maker.ts";

const side = 2_048;
const count = 40;

/** Soft noise over a gradient, as drawn art has: a PNG of some megabytes. */
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

const art = await drawn();
const pictures = {
  png: await art.clone().png().toBuffer(),
  jpeg: await art.clone().jpeg({ quality: 90 }).toBuffer(),
  webp: await art.clone().webp().toBuffer(),
};
for (const [name, bytes] of Object.entries(pictures)) {
  const maker = new PictureMaker();
  await maker.make(bytes, 512);
  const ticks = () =>
    readFileSync(`/proc/${maker.pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
  const processorMs = () => (Number(ticks()[11]) + Number(ticks()[12])) * 10;
  const [started, used] = [performance.now(), processorMs()];
  for (let at = 0; at < count; at += 1) await maker.make(bytes, 512);
  const [ms, processor] = [(performance.now() - started) / count, (processorMs() - used) / count];
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${maker.pid}/status`, "utf8"))?.[1]) / 1_024;
  console.log(
    `${name} ${(bytes.length / 2 ** 20).toFixed(1)} MiB: ${ms.toFixed(0)} ms each, ${processor.toFixed(0)} ms of the processor: ` +
      `${(1_000 / processor).toFixed(1)} a second and core; most memory ${peak.toFixed(0)} MiB; load ${loadavg()[0]?.toFixed(1)}`,
  );
  maker.close();
}
