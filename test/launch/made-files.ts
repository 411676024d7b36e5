import { drawImage } from "../../bin/demo-images.ts";

/** A symbolic link of a made folder. */
export class LinkTo {
  readonly target: string;

  constructor(target: string) {
    this.target = target;
  }
}

let made = 0;
/** No two files are alike: one that stands in another's place is found. */
function next(): number {
  made += 1;
  return made;
}
const mark = () => Buffer.from(`picture ${next()} `);

export function png(): Buffer {
  return drawImage(next(), 16);
}

/** 8 × 8, with a comment; `preview` stands where cameras put theirs. */
export function jpeg(preview?: Uint8Array): Buffer {
  const segment = (marker: number, content: Uint8Array) => {
    const length = content.length + 2;
    return Buffer.concat([Buffer.from([0xff, marker, length >> 8, length & 0xff]), content]);
  };
  const scan = Buffer.from(Array.from({ length: 400 }, (_, at) => at % 0xff));
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    ...(preview ? [segment(0xe2, preview)] : []),
    segment(0xfe, mark()),
    segment(0xc0, Buffer.from([8, 0, 8, 0, 8, 1, 1, 0x11, 0])),
    segment(0xda, Buffer.from([1, 1, 0, 0, 63, 0])),
    scan,
    Buffer.from([0xff, 0x00, 0xff, 0xd9]),
  ]);
}

export function gif(): Buffer {
  const comment = mark();
  const pixels = Buffer.from([0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]);
  return Buffer.concat([
    Buffer.from("GIF89a"),
    Buffer.from([1, 0, 1, 0, 0, 0, 0]),
    Buffer.from([0x21, 0xfe, comment.length]),
    comment,
    Buffer.from([0]),
    pixels,
    Buffer.from([0x3b]),
  ]);
}

/** A WebP of one pixel. */
export function riff(): Buffer {
  const pixel = Buffer.from("VlA4TA0AAAAvAAAAEAcQERGIiP4HAA==", "base64");
  const comment = mark();
  const more = Buffer.concat([Buffer.from("XMP "), u32(comment.length, true), comment]);
  const body = Buffer.concat([Buffer.from("WEBP"), pixel, more, Buffer.alloc(comment.length % 2)]);
  return Buffer.concat([Buffer.from("RIFF"), u32(body.length, true), body]);
}

export function svg(inside: string): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><!-- ${mark()} -->${inside}</svg>\n`;
}

export function mp4(): Buffer {
  const box = (type: string, content: Uint8Array) =>
    Buffer.concat([u32(content.length + 8), Buffer.from(type), content]);
  return Buffer.concat([
    box("ftyp", Buffer.from("isom\0\0\x02\0isomiso2")),
    box("moov", mark()),
    box("mdat", Buffer.alloc(300, 7)),
  ]);
}

export function glb(): Buffer {
  const text = Buffer.from(JSON.stringify({ asset: { version: "2.0", generator: String(mark()) } }).padEnd(80));
  const chunk = Buffer.concat([u32(text.length, true), Buffer.from("JSON"), text]);
  return Buffer.concat([Buffer.from("glTF"), u32(2, true), u32(12 + chunk.length, true), chunk]);
}

/** What a broken copy leaves: the first two thirds, or with `held` nothing but zeros after them. */
export function cut(bytes: Buffer, held = false): Buffer {
  const end = Math.floor((bytes.length * 2) / 3);
  return held ? Buffer.concat([bytes.subarray(0, end), Buffer.alloc(bytes.length - end)]) : bytes.subarray(0, end);
}

function u32(value: number, little = false): Buffer {
  const bytes = Buffer.alloc(4);
  if (little) bytes.writeUInt32LE(value);
  else bytes.writeUInt32BE(value);
  return bytes;
}
