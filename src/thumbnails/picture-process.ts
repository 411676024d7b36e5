/*
 * Decodes pictures of third parties and makes previews of them: frames with a width and a picture come in, frames with a
 * preview or a refusal go out. It is handed neither the service's environment nor its files, but it runs as the service's user. Whatever a
 * decoder does to this process, the service goes on: see picture-maker.ts.
 */
import sharp, { type Metadata } from "sharp";
import { highest, mostMs, mostPictureBytes, mostPixels, mostProcessBytes, mostWholeBytes } from "./bounds.ts";
import { answers, frameHeader, readFrames } from "./frames.ts";

/** Nothing is kept between pictures, and one thread works. */
sharp.cache(false);
sharp.concurrency(1);
// Of some thirty decoders those whose formats browsers show.
sharp.block({ operation: ["VipsForeignLoad"] });
sharp.unblock({
  operation: ["Jpeg", "Png", "Webp", "Nsgif", "Svg", "Heif"].map((name) => `VipsForeignLoad${name}Buffer`),
});

/** Libraries take memory outside of Node's heap, on other threads than this one, which is free to look. */
const watchMs = 10;
const quality = 80;
/** Pixels of a picture that small are meant to be seen as they are. */
const losslessWidth = 128;

class Refusal extends Error {}

async function makeThumbnail(picture: Buffer, width: number): Promise<Buffer> {
  // A drawing may be compressed too, to a thousandth of its size.
  if (picture[0] === 0x1f && picture[1] === 0x8b) throw new Refusal("it is compressed");
  // The first picture of an animation; what is cut off is an error, what is unusual is none.
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

/** Rows of other pictures come one after the other. The watch on memory is too late where the processor is busy. */
function requireRoom({ format, width, height, channels, depth, isProgressive }: Metadata): void {
  const bytes = width * height * channels * (depth === "uchar" ? 1 : 2);
  const isWhole = isProgressive || format === "heif" || format === "webp" || format === "gif";
  if (isWhole && bytes > mostWholeBytes)
    throw new Refusal(`its pixels take ${bytes} bytes at once; at most ${mostWholeBytes} are taken`);
}

/** A browser writes texts in fonts that this machine may not have, and HTML that no library draws: it shows such drawings itself. */
function requireDrawable(drawing: Buffer): void {
  if (/<(\w+:)?(text|foreignObject)\b/i.test(drawing.toString("latin1")))
    throw new Refusal("it is a drawing with text or HTML in it, which browsers draw themselves");
}

async function answerOf(picture: Buffer, width: number): Promise<[word: number, bytes: Buffer]> {
  // By a signal: an orderly end would wait for the threads that take the memory.
  const begun = performance.now();
  const watch = setInterval(() => {
    // The service ends what takes longer, unless it has ended itself.
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
