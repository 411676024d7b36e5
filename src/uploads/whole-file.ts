/**
 * Finds files that are incomplete (cut off while copied) or depend on other files by name. Linked by their hash, both
 * would be broken for ever. The console's browser code uses this file too, so it imports nothing.
 */

/** Bytes of a file from a position on; fewer at its end. */
export type ReadAt = (start: number, length: number) => Promise<Uint8Array>;

export type FileFault = { fault: "cut" } | { fault: "text" } | { fault: "kind" } | { fault: "names"; other: string };

/** Larger texts are not searched for names. */
const searchedBytes = 4_194_304;

const isBinary = /\.(png|jpe?g|gif|webp|avif|bmp|tiff?|mp4|webm|mov|m4v|ogv|mp3|wav|ogg|oga|flac|m4a|glb|pdf)$/i;
/** Extensions of pictures that begin like one of the kinds below. */
const isPicture = /\.(png|jpe?g|gif|webp|avif)$/i;
/** A saved answer of a server, or a Git placeholder for a file. */
const isText = /^\s*(<!doctype|<html|<\?xml|\{|version https:)/i;
const beginsAsSvg = /^\ufeff?\s*(<[?!][^>]*>\s*)*<svg[\s>]/i;

/** @returns null for a file that is complete, and for unknown kinds. */
export async function findFileFault(name: string, size: number, read: ReadAt): Promise<FileFault | null> {
  const head = await read(0, 16);
  const kind = kinds.find(({ begins }) => begins(head));
  if (kind) return (await kind.isWhole(size, read, head)) ? null : { fault: "cut" };
  if (isBinary.test(name) && isText.test(latin1(head))) return { fault: "text" };
  if (isPicture.test(name)) return { fault: "kind" };
  if (!/\.(svg|html?|gltf)$/i.test(name) || size > searchedBytes) return null;
  const text = new TextDecoder().decode(await read(0, size));
  if (/\.svg$/i.test(name) && beginsAsSvg.test(text) && !/(<\/svg\s*|\/)>(\s|<!--.*?-->)*$/is.test(text))
    return { fault: "cut" };
  const other = /\.gltf$/i.test(name) ? namedByModel(text) : namedByPage(text);
  return other === undefined ? null : { fault: "names", other };
}

/** Members of a document whose picture is embedded in the link and incomplete. @param text valid JSON. */
export async function findBrokenData(text: string): Promise<string[]> {
  const document = JSON.parse(text) as Record<string, unknown>;
  const broken: string[] = [];
  for (const member of ["image", "image_url"]) {
    const link = document[member];
    const [, type = "", base64, data = ""] =
      /^\s*data:image\/(\w+)[^,]*?(;\s*base64)?\s*,(.*)$/is.exec(String(link)) ?? [];
    if (type === "" || !(await isBroken(type, base64 === undefined ? percentDecode(data) : base64Decode(data))))
      continue;
    broken.push(`${member} is a data: link whose picture cannot be read, or is cut short`);
  }
  return broken;
}

async function isBroken(type: string, bytes: Uint8Array | null): Promise<boolean> {
  if (bytes === null) return true;
  const read: ReadAt = async (start, length) => bytes.subarray(Math.max(start, 0), Math.max(start, 0) + length);
  return (await findFileFault(`data.${type}`, bytes.length, read)) !== null;
}

function base64Decode(data: string): Uint8Array | null {
  try {
    return Uint8Array.from(atob(percentDecoded(data).replace(/-/g, "+").replace(/_/g, "/")), (one) =>
      one.charCodeAt(0),
    );
  } catch {
    return null;
  }
}

function percentDecode(data: string): Uint8Array {
  return new TextEncoder().encode(percentDecoded(data));
}

/** Contracts and people leave a stray `%` unescaped. */
function percentDecoded(data: string): string {
  try {
    return decodeURIComponent(data);
  } catch {
    return data;
  }
}

export function describeFault(found: FileFault): string {
  if (found.fault === "cut") return "is cut short: copy it again";
  if (found.fault === "text") return "is a text, such as a page that a server answered with: fetch the file again";
  if (found.fault === "kind") return "is no picture of the kind that its name says";
  return `names ${found.other}, another file, which nobody finds once it is stored: put all into one file`;
}

interface Kind {
  begins(head: Uint8Array): boolean;
  isWhole(size: number, read: ReadAt, head: Uint8Array): Promise<boolean>;
}

const at = (place: number, text: string) => (head: Uint8Array) => latin1(head.subarray(place)).startsWith(text);

const kinds: readonly Kind[] = [
  { begins: at(0, "\x89PNG\r\n\x1a\n"), isWhole: isWholePng },
  { begins: at(0, "\xff\xd8\xff"), isWhole: isWholeJpeg },
  { begins: at(0, "GIF8"), isWhole: isWholeGif },
  // WebP and WAV; the padding byte at the end may be missing.
  { begins: at(0, "RIFF"), isWhole: async (size, _, head) => numberAt(head, 4, true) + 8 <= size + 1 },
  { begins: at(0, "glTF"), isWhole: async (size, _, head) => numberAt(head, 8, true) <= size },
  // A picture that browsers show under any name.
  { begins: at(0, "BM"), isWhole: async () => true },
  // MP4, MOV, AVIF, HEIC.
  { begins: at(4, "ftyp"), isWhole: hasWholeBoxes },
];

/** Bytes after the end of the picture are ignored. */
async function isWholePng(size: number, read: ReadAt): Promise<boolean> {
  const isEnd = (chunk: Uint8Array) => latin1(chunk.subarray(4, 8)) === "IEND";
  if (isEnd(await read(size - 12, 12))) return true;
  for (let place = 8; place + 12 <= size; ) {
    const chunk = await read(place, 8);
    if (isEnd(chunk)) return true;
    // Names of chunks are letters. A file whose end was never written has zeros there.
    if (!/^[a-z]{4}$/i.test(latin1(chunk.subarray(4)))) return false;
    place += 12 + numberAt(chunk, 0);
  }
  return false;
}

async function isWholeJpeg(size: number, read: ReadAt): Promise<boolean> {
  if (latin1(await read(size - 2, 2)) === "\xff\xd9") return true;
  const bytes = await read(0, size);
  for (let place = 2; place + 4 <= bytes.length; ) {
    const marker = bytes[place + 1] ?? 0;
    // In a scan, 0xff is followed by zero or a restart marker; any other byte after it begins the next segment.
    if (bytes[place] !== 0xff || marker === 0 || marker === 0xff || (marker >= 0xd0 && marker <= 0xd8)) place += 1;
    else if (marker === 0xd9) return true;
    else place += 2 + ((bytes[place + 2] ?? 0) << 8) + (bytes[place + 3] ?? 0);
  }
  return false;
}

async function isWholeGif(size: number, read: ReadAt): Promise<boolean> {
  if (latin1(await read(size - 2, 2)) === "\0;") return true;
  const bytes = await read(0, size);
  const table = (flags: number) => (flags & 0x80 ? 3 << ((flags & 7) + 1) : 0);
  let place = 13 + table(bytes[10] ?? 0);
  while (place < bytes.length) {
    const block = bytes[place];
    if (block === 0x3b) return true;
    if (block === 0x21) place += 2;
    else if (block === 0x2c) place += 11 + table(bytes[place + 9] ?? 0);
    else return false;
    for (let length = bytes[place] ?? 0; length > 0; length = bytes[place] ?? 0) place += length + 1;
    place += 1;
  }
  return false;
}

async function hasWholeBoxes(size: number, read: ReadAt): Promise<boolean> {
  let described = false;
  for (let place = 0; place + 8 <= size; ) {
    const box = await read(place, 16);
    const type = latin1(box.subarray(4, 8));
    described ||= type === "moov" || type === "meta" || type === "moof";
    let length = numberAt(box, 0);
    if (length === 1) length = numberAt(box, 8) * 2 ** 32 + numberAt(box, 12);
    if (length === 0 && type !== "\0\0\0\0") return described;
    if (length < 8 || place + length > size) return false;
    place += length;
  }
  return described;
}

function namedByModel(text: string): string | undefined {
  try {
    const { buffers = [], images = [] } = JSON.parse(text) as Record<string, { uri?: unknown }[]>;
    const uris = [...buffers, ...images].flatMap(({ uri }) => (typeof uri === "string" ? uri : []));
    return uris.find((uri) => !isOwnLink(uri));
  } catch {
    return undefined;
  }
}

const references =
  /<(?:script|img|image|feImage|use|link|video|audio|source|iframe|embed|object)\b[^>]*?\s(?:xlink:href|href|src|data)\s*=\s*(?:"([^"]*)"|'([^']*)')/gi;

/** Only texts that look like a file name count: scripts assemble addresses. */
function namedByPage(text: string): string | undefined {
  const found = [...text.replace(/<!--.*?-->/gs, "").matchAll(references)].map(([, one, other]) => one ?? other ?? "");
  return found.find((link) => !isOwnLink(link) && /^[\w@%~+ ./-]+\.\w{1,5}([?#].*)?$/.test(link));
}

/** Whether a link works wherever its file is. */
function isOwnLink(link: string): boolean {
  return /^([a-z][a-z0-9+.-]*:|\/\/|#)/i.test(link.trim());
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}

function numberAt(bytes: Uint8Array, place: number, little = false): number {
  return bytes.length < place + 4 ? 0 : new DataView(bytes.buffer, bytes.byteOffset).getUint32(place, little);
}
