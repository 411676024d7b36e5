/*
 * What the first bytes of a picture say of its size, by the formats' own descriptions; the product asks a library.
 */

export interface Size {
  width: number;
  height: number;
}

/** `null`: a picture that says no size. */
export function sizeOf(bytes: Uint8Array): Size | null | "no picture" {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 65_536));
  const text = head.toString("latin1");
  const at = (from: number) => ({ big: () => head.readUInt32BE(from), little: () => head.readUInt16LE(from) });
  if (text.startsWith("\x89PNG\r\n\x1a\n")) return { width: at(16).big(), height: at(20).big() };
  if (/^GIF8[79]a/.test(text)) return { width: at(6).little(), height: at(8).little() };
  if (text.startsWith("RIFF") && text.slice(8, 16) === "WEBPVP8X")
    return { width: 1 + head.readUIntLE(24, 3), height: 1 + head.readUIntLE(27, 3) };
  if (text.startsWith("\xff\xd8\xff")) {
    const frame = text.indexOf("\xff\xc0");
    return { width: head.readUInt16BE(frame + 7), height: head.readUInt16BE(frame + 5) };
  }
  if (text.startsWith("BM")) return { width: head.readUInt32LE(18), height: head.readUInt32LE(22) };
  const [tag] = /<svg[\s/>][^>]*/i.exec(head.toString()) ?? [];
  return tag === undefined || /^\s*(<html|<!doctype html|\{)/i.test(text) ? "no picture" : sizeOfDrawing(tag);
}

/** SVG: by its length units where both are absolute, or else by what it draws into. */
function sizeOfDrawing(tag: string): Size | null {
  const attribute = (name: string) => new RegExp(`\\s${name}\\s*=\\s*(["'])(.*?)\\1`, "i").exec(tag)?.[2];
  const length = (name: string) => /^\s*([0-9.]+)(px)?\s*$/.exec(attribute(name) ?? "")?.[1];
  const [width, height] = [length("width"), length("height")];
  const box = (attribute("viewBox") ?? "")
    .trim()
    .split(/[\s,]+/)
    .map(Number);
  const [, , boxWidth = 0, boxHeight = 0] = box.length === 4 ? box : [];
  const size =
    width !== undefined && height !== undefined
      ? { width: Number(width), height: Number(height) }
      : { width: boxWidth, height: boxHeight };
  if (!(size.width > 0 && size.height > 0)) return null;
  return { width: Math.round(size.width), height: Math.round(size.height) };
}
