import { crc32, deflateSync } from "node:zlib";

/** A square PNG of 8 × 8 mirrored blocks in two colours, different for every seed. */
export function drawImage(seed: number, size = 256): Buffer {
  const block = size / 8;
  const hue = (seed * 47) % 360;
  const colours = [hslToRgb(hue, 0.65, 0.5), hslToRgb((hue + 160) % 360, 0.35, 0.92)] as const;
  const rows = Array.from({ length: size }, (_, y) => {
    const row = Buffer.alloc(1 + size * 3);
    for (let x = 0; x < size; x += 1) {
      const column = Math.min(Math.floor(x / block), 7 - Math.floor(x / block));
      const bit = (((seed + 1) * 2654435761) >>> ((Math.floor(y / block) * 4 + column) % 31)) & 1;
      row.set(colours[bit as 0 | 1], 1 + x * 3);
    }
    return row;
  });
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  // 8 bits per channel, true colour, no interlacing.
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from("89504e470d0a1a0a", "hex"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "ascii"), data]);
  const frame = Buffer.alloc(8);
  frame.writeUInt32BE(data.length, 0);
  frame.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)]);
}

function hslToRgb(hue: number, saturation: number, lightness: number): [number, number, number] {
  const spread = saturation * Math.min(lightness, 1 - lightness);
  const channel = (offset: number) => {
    const k = (offset + hue / 30) % 12;
    return Math.round(255 * (lightness - spread * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}
