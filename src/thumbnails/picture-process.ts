/*
 * Decodes third-party pictures and makes previews: frames with a width and a picture come in, frames with a preview or
 * a refusal go out. It gets neither the service's environment nor its files, but runs as the service's user. Whatever a
 * decoder does to this process, the service goes on: see picture-maker.ts.
 */
import sharp, { type Metadata } from "sharp";
import { highest, mostMs, mostPictureBytes, mostPixels, mostProcessBytes, mostWholeBytes } from "./bounds.ts";
import { answers, frameHeader, readFrames } from "./frames.ts";

/** Caches nothing between pictures, and uses one thread. */
sharp.cache(false);
sharp.concurrency(1);
// Of some thirty decoders, only those for formats that browsers show.
sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({
  operation: ["Jpeg", "Png", "Webp", "Nsgif", "Svg", "Heif"].map((name) => `VipsForeignLoad${name}Buffer`),
});

/** Interval of the memory watch. Libraries allocate outside of Node's heap and on other threads, so it can run. */
const watchMs = 10;
const quality = 80;
/** Pictures up to this width are often pixel art, so they are encoded without loss. */
const losslessWidth = 128;

class Refusal extends Error {}

async function makeThumbnail(picture: Buffer, width: number): Promise<Buffer> {
  // An SVG may be gzipped, to a thousandth of its size.
  if (picture[0] === 0x1f && picture[1] === 0x8b) throw new Refusal("it is compressed");
  // The first frame of an animation. Truncated pictures are errors, unusual ones are not.
  const options = { sequentialRead: true, failOn: "error", pages: 1 } as const;
  const header = await sharp(picture, { ...options, limitInputPixels: false }).metadata();
  const isDrawing = header.format === "svg";
  if (isDrawing) requireDrawable(picture);
  else if (header.width * header.height > mostPixels)
    throw new Refusal(`it has ${header.width} × ${header.height} pixels; at most ${mostPixels} in all are read`);
  else requireRoom(header);
  const isTiny = !isDrawing && header.width <= losslessWidth && header.height <= losslessWidth;
  return await sharp(picture, { ...options, limitInputPixels: isDrawing ? false : mostPixels })
    .autoOrient()
    .resize({ width, height: width * highest, fit: "inside", withoutEnlargement: !isDrawing })
    .webp(isTiny ? { lossless: true } : { quality })
    .toBuffer();
}

/** Pictures of other formats are decoded row by row. The memory watch alone would be too late on a busy machine. */
function requireRoom({ format, width, height, channels, depth, isProgressive }: Metadata): void {
  const bytes = width * height * channels * (depth === "uchar" ? 1 : 2);
  const isWhole = isProgressive || format === "heif" || format === "webp" || format === "gif";
  if (isWhole && bytes > mostWholeBytes)
    throw new Refusal(`its pixels take ${bytes} bytes at once; at most ${mostWholeBytes} are taken`);
}

/** A browser draws fonts that this machine may lack, and HTML that no library draws: it shows such SVGs itself. */
function requireDrawable(drawing: Buffer): void {
  if (/<(\w+:)?(text|foreignObject)\b/i.test(drawing.toString("latin1")))
    throw new Refusal("it is a drawing with text or HTML in it, which browsers draw themselves");
}

async function answerOf(picture: Buffer, width: number): Promise<[word: number, bytes: Buffer]> {
  // With a signal: an orderly exit would wait for the threads that take the memory.
  const begun = performance.now();
  const watch = setInterval(() => {
    // The service kills this process when a picture takes too long, unless the service itself is gone.
    const isForgotten = performance.now() - begun > 2 * mostMs;
    if (isForgotten || process.memoryUsage.rss() > mostProcessBytes) process.kill(process.pid, "SIGKILL");
  }, watchMs);
  try {
    return [answers.made, await makeThumbnail(picture, width)];
  } catch (error) {
    const isLarge = error instanceof Error && error.message.includes("out of memory");
    const why =
      error instanceof Refusal
        ? error.message
        : isLarge
          ? "decoding it takes too much memory"
          : "it is damaged, or in no format that previews are made of";
    return [answers.refused, Buffer.from(why)];
  } finally {
    clearInterval(watch);
  }
}

function send(word: number, bytes: Buffer): void {
  process.stdout.write(frameHeader(word, bytes.length));
  process.stdout.write(bytes);
}

send(answers.ready, Buffer.alloc(0));
for await (const { word: width, bytes } of readFrames(process.stdin, mostPictureBytes))
  send(...(await answerOf(bytes, width)));
