import { crc32, deflateSync, gzipSync } from "node:zlib";
import sharp from "sharp";

/** A picture of one colour, drawn by the library; the tests judge what comes of it by its bytes and in a browser. */
export function plain(width: number, height: number, colour = "#c02040") {
  return sharp({ create: { width, height, channels: 4, background: colour } });
}

/** Grey noise, which no format makes small. */
export function noise(width: number, height: number) {
  const gaussian = { type: "gaussian", mean: 128, sigma: 40 } as const;
  return sharp({ create: { width, height, channels: 3, background: "#000", noise: gaussian } });
}

/** Of a WebP file, read by hand: RFC 9649. */
export function webpSize(bytes: Uint8Array): { width: number; height: number; lossless: boolean } {
  const file = Buffer.from(bytes);
  const form = file.subarray(12, 16).toString("latin1");
  if (file.subarray(0, 4).toString() !== "RIFF" || file.subarray(8, 12).toString() !== "WEBP")
    throw new Error("no WebP");
  if (file.readUInt32LE(4) !== file.length - 8) throw new Error("a WebP of another length");
  if (form === "VP8X") {
    const lossless = file.includes("VP8L");
    return { width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1, lossless };
  }
  if (form === "VP8L") {
    const bits = file.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1, lossless: true };
  }
  if (form !== "VP8 ") throw new Error(`chunk ${form}`);
  return { width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff, lossless: false };
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

interface Png {
  width: number;
  height: number;
  depth?: number;
  colour?: number;
  interlaced?: boolean;
  /** Before compression. */
  rows?: Buffer;
  more?: Buffer[];
}

/** A PNG by hand: W3C PNG, 11.2. */
export function png({ width, height, depth = 1, colour = 0, interlaced = false, rows, more = [] }: Png): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colour, 0, 0, interlaced ? 1 : 0], 8);
  const pixels = deflateSync(rows ?? Buffer.alloc(1_000_000), { level: 1 });
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    ...[chunk("IHDR", header), ...more, chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))],
  ]);
}

/** A GIF by hand: every frame one pixel of a screen of any size. */
export function gif(width: number, height: number, frames: number): Buffer {
  const head = Buffer.from("GIF89a\0\0\0\0\x80\0\0\xff\0\0\0\0\xff", "latin1");
  head.writeUInt16LE(width, 6);
  head.writeUInt16LE(height, 8);
  const frame = Buffer.from("\x21\xf9\x04\x04\x0a\0\0\0\x2c\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0", "latin1");
  return Buffer.concat([head, ...Array.from({ length: frames }, () => frame), Buffer.from(";")]);
}

function svg(attributes: string, content: string, prolog = ""): Buffer {
  const names = `xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"`;
  return Buffer.from(`${prolog}<svg ${names} ${attributes}>${content}</svg>`);
}

const red = `<rect width="100%" height="100%" fill="#c02040"/>`;
const square = `width="400" height="400"`;

function entityBomb(): string {
  const levels = Array.from({ length: 12 }, (_, at) => `<!ENTITY e${at + 1} "${`&e${at};`.repeat(10)}">`);
  return `<?xml version="1.0"?><!DOCTYPE svg [<!ENTITY e0 "<rect width='1' height='1'/>">${levels.join("")}]>`;
}

function nested(levels: number): string {
  return `${"<g>".repeat(levels)}${red}${"</g>".repeat(levels)}`;
}

/** Ten uses of ten uses of … a square: 10^levels squares. */
function usesOfUses(levels: number): string {
  const layers = Array.from({ length: levels }, (_, at) => {
    const under = at === 0 ? "s" : `u${at - 1}`;
    return `<g id="u${at}">${`<use xlink:href="#${under}"/>`.repeat(10)}</g>`;
  });
  return `<defs><rect id="s" width="1" height="1"/>${layers.join("")}</defs><use xlink:href="#u${levels - 1}"/>`;
}

function box(type: string, ...content: Buffer[]): Buffer {
  const body = Buffer.concat(content);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(body.length + 8);
  return Buffer.concat([length, Buffer.from(type, "latin1"), body]);
}

/** What becomes of a hostile file: a preview, a refusal, or either of them. */
type Fate = "made" | "refused" | "either";
type Hostile = [name: string, fate: Fate, bytes: Buffer];

/** A drawing that names nothing else; those that do have to look like it. */
export const innocent = svg(square, red);

/** Those that take a process its memory or its time. */
export function exhaustingPictures(): Hostile[] {
  return [
    [
      "an interlaced PNG of 49 megapixels in 64 bits",
      "refused",
      png({ width: 7_000, height: 7_000, depth: 16, colour: 6, interlaced: true, rows: Buffer.alloc(400_000_000) }),
    ],
    ["a drawing of 10^9 squares", "either", svg(square, usesOfUses(9))],
  ];
}

/** @param secret URL that nothing may ask for, and a file that nothing may read. */
export async function hostilePictures(secret: { url: string; file: string }): Promise<Hostile[]> {
  const jpeg = await noise(800, 600).jpeg().toBuffer();
  const webp = await noise(800, 600).webp().toBuffer();
  const whole = await plain(800, 600).png().toBuffer();
  const avif = await plain(300, 200).avif({ effort: 0 }).toBuffer();
  const wide = Buffer.from(jpeg);
  const frame = wide.indexOf(Buffer.from([0xff, 0xc0]));
  wide.writeUInt16BE(65_500, frame + 5);
  wide.writeUInt16BE(65_500, frame + 7);
  const hugeAvif = Buffer.from(avif);
  hugeAvif.writeUInt32BE(60_000, hugeAvif.indexOf("ispe") + 8);
  hugeAvif.writeUInt32BE(60_000, hugeAvif.indexOf("ispe") + 12);
  const embedded = `data:image/png;base64,${png({ width: 30_000, height: 30_000 }).toString("base64")}`;
  const inflating = Buffer.concat([Buffer.from("a\0\0"), deflateSync(Buffer.alloc(30_000_000))]);
  return [
    ["a PNG of 60,000 × 60,000 pixels", "refused", png({ width: 60_000, height: 60_000 })],
    ["a PNG of 2^31-1 × 2^31-1 pixels", "refused", png({ width: 0x7fffffff, height: 0x7fffffff })],
    ["a PNG without width", "refused", png({ width: 0, height: 10 })],
    ["a PNG just over the bound of pixels", "refused", png({ width: 50_001, height: 1_000 })],
    ["a PNG whose rows end early", "refused", png({ width: 5_000, height: 5_000, rows: Buffer.alloc(1_000) })],
    ["a PNG with rows for more", "either", png({ width: 8, height: 8, rows: Buffer.alloc(50_000_000) })],
    [
      "a PNG whose text inflates to 30 MB",
      "either",
      png({ width: 8, height: 8, rows: Buffer.alloc(16), more: [chunk("zTXt", inflating)] }),
    ],
    [
      "a PNG whose colour profile inflates to 30 MB",
      "either",
      png({ width: 8, height: 8, rows: Buffer.alloc(16), more: [chunk("iCCP", inflating)] }),
    ],
    ["a PNG with a wrong checksum", "refused", Buffer.from(whole).fill(0x55, 20, 24)],
    ["a truncated JPEG", "refused", jpeg.subarray(0, jpeg.length / 2)],
    ["a JPEG of its header alone", "refused", jpeg.subarray(0, 300)],
    ["a JPEG that says 65,500 × 65,500 pixels", "refused", wide],
    ["a truncated PNG", "refused", whole.subarray(0, whole.length - 100)],
    ["a truncated WebP", "refused", webp.subarray(0, webp.length / 2)],
    ["a truncated AVIF", "refused", avif.subarray(0, avif.length - 20)],
    ["an AVIF that says 60,000 × 60,000 pixels", "refused", hugeAvif],
    ["a GIF of 65,535 × 65,535 pixels", "either", gif(65_535, 65_535, 1)],
    ["a GIF of 10,000 frames", "made", gif(300, 300, 10_000)],
    ["a GIF that ends in its header", "refused", gif(300, 300, 1).subarray(0, 16)],
    ["a drawing with an entity bomb", "refused", svg(square, "&e12;", entityBomb())],
    [
      "a drawing with an external entity",
      "either",
      svg(square, `${red}<desc>&x;</desc>`, `<!DOCTYPE svg [<!ENTITY x SYSTEM "file://${secret.file}">]>`),
    ],
    [
      "a drawing with a picture from a server",
      "either",
      svg(square, `${red}<image xlink:href="${secret.url}/a.png" width="400" height="400"/>`),
    ],
    [
      "a drawing with a picture from this machine",
      "either",
      svg(square, `${red}<image xlink:href="file://${secret.file}" width="400" height="400"/>`),
    ],
    [
      "a drawing with styles from a server",
      "either",
      svg(square, `<style>@import url("${secret.url}/a.css");</style>${red}`),
    ],
    [
      "a drawing with a style sheet of XML",
      "either",
      svg(square, red, `<?xml-stylesheet href="${secret.url}/b.css" type="text/css"?>`),
    ],
    [
      "a drawing that includes a file",
      "either",
      svg(square, `${red}<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="${secret.url}/c"/>`),
    ],
    ["a drawing with a script", "made", svg(square, `${red}<script>fetch("${secret.url}/d")</script>`)],
    ["a drawing with handlers", "made", svg(`${square} onload="fetch('${secret.url}/e')"`, red)],
    ["a drawing of 2,000,000,000 pixels in width", "refused", svg(`width="2000000000" height="2000000000"`, red)],
    ["a drawing of 32,000 × 32,000 pixels", "made", svg(`width="32000" height="32000"`, red)],
    ["a drawing a million times as high as wide", "refused", svg(`width="0.01" height="10000"`, red)],
    [
      "a drawing with a picture of 900 megapixels in it",
      "either",
      svg(square, `${red}<image xlink:href="${embedded}" width="400" height="400"/>`),
    ],
    ["a drawing of 200,000 nested groups", "either", svg(square, nested(200_000))],
    [
      "a drawing with a blur as wide as it",
      "either",
      svg(
        square,
        `<filter id="f"><feGaussianBlur stdDeviation="10000"/></filter><g filter="url(#f)">${red.repeat(50)}</g>`,
      ),
    ],
    ["a compressed drawing that inflates to 30 MB", "refused", gzipSync(svg(square, " ".repeat(30_000_000)))],
    ["a drawing with text", "refused", svg(square, `<text y="20">Bag</text>`)],
    [
      "a drawing with HTML",
      "refused",
      svg(square, `<foreignObject width="9" height="9"><p xmlns="http://www.w3.org/1999/xhtml">a</p></foreignObject>`),
    ],
    ["a ZIP", "refused", Buffer.from("PK\x03\x04aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "latin1")],
    ["a PNG that is a ZIP behind its end", "made", Buffer.concat([whole, Buffer.from("PK\x03\x04aaaa", "latin1")])],
    ["a GIF that is a script", "either", Buffer.from("GIF89a/*\x80\0\0*/=1;alert(1)//", "latin1")],
    ["a web page", "refused", Buffer.from(`<!DOCTYPE html><img src="${secret.url}/f">`)],
    ["a video", "refused", box("ftyp", Buffer.from("isom\0\0\x02\0isomiso2mp41"))],
    [
      "a HEIC",
      "refused",
      Buffer.concat([box("ftyp", Buffer.from("heic\0\0\0\0mif1heic")), box("meta", Buffer.alloc(100))]),
    ],
    ["a TIFF", "refused", await plain(300, 200).tiff().toBuffer()],
    ["a PDF", "refused", Buffer.from("%PDF-1.7\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>")],
    [
      "a script for a program that converts pictures",
      "refused",
      Buffer.from(`push graphic-context\nfill 'url(${secret.url}/g)'\npop graphic-context`),
    ],
    ["nothing", "refused", Buffer.alloc(0)],
    ["one byte", "refused", Buffer.from("\xff", "latin1")],
    [
      "random bytes behind the signature of a PNG",
      "refused",
      Buffer.concat([whole.subarray(0, 8), Buffer.from(jpeg.subarray(500, 5_000))]),
    ],
  ];
}
