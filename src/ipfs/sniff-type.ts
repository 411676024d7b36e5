/** The number of first bytes that `sniffType` looks at. */
export const sniffedBytes = 512;

const signatures: readonly [type: string, at: number, bytes: string][] = [
  ["image/png", 0, "\x89PNG\r\n\x1a\n"],
  ["image/jpeg", 0, "\xff\xd8\xff"],
  ["image/gif", 0, "GIF87a"],
  ["image/gif", 0, "GIF89a"],
  ["image/webp", 8, "WEBP"],
  ["image/avif", 4, "ftypavif"],
  ["image/bmp", 0, "BM"],
  ["video/mp4", 4, "ftyp"],
  ["video/webm", 0, "\x1aE\xdf\xa3"],
  ["audio/mpeg", 0, "ID3"],
  ["audio/mpeg", 0, "\xff\xfb"],
  ["audio/wav", 8, "WAVE"],
  ["audio/flac", 0, "fLaC"],
  ["audio/ogg", 0, "OggS"],
  ["model/gltf-binary", 0, "glTF"],
  ["application/pdf", 0, "%PDF-"],
];

/** The media type that a file's first bytes identify; null when they do not. Never a type that runs scripts. */
export function sniffType(head: Uint8Array): string | null {
  const text = Buffer.from(head.subarray(0, sniffedBytes)).toString("latin1");
  for (const [type, at, bytes] of signatures) if (text.startsWith(bytes, at)) return type;
  return null;
}

const extensions: Record<string, string> = {
  json: "application/json",
  txt: "text/plain; charset=utf-8",
  svg: "image/svg+xml",
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  mp3: "audio/mpeg",
  glb: "model/gltf-binary",
  gltf: "model/gltf+json",
};

/** How texts of these types begin. */
const beginnings: readonly [type: string, pattern: RegExp][] = [
  ["application/json", /^\s*[{[]/],
  ["image/svg+xml", /^\s*(<\?xml[^>]*>\s*)?(<!--[^>]*-->\s*)?(<!DOCTYPE svg[^>]*>\s*)?<svg[\s>]/i],
  ["text/html", /^\s*(<!DOCTYPE html|<(html|head|body|script)[\s>])/i],
];
/** A control character that does not occur in text; tabs and line ends do. */
const isControl = (byte: number) => byte < 9 || (byte > 13 && byte < 32) || byte === 127;

/**
 * The media type of a text by its beginning, `text/plain` if that is of no known type; null for anything but UTF-8
 * text. It is a guess, unlike `sniffType`: a file's name is better evidence.
 */
export function guessTextType(head: Uint8Array): string | null {
  let text: string;
  try {
    // The last character may be incomplete.
    text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: head.length >= sniffedBytes });
  } catch {
    return null;
  }
  if (text === "" || head.some(isControl)) return null;
  return beginnings.find(([, pattern]) => pattern.test(text))?.[0] ?? "text/plain";
}

/** The media type that a file's name suggests. */
export function typeOfName(name: string): string | null {
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? "";
  return Object.hasOwn(extensions, extension) ? (extensions[extension] ?? null) : null;
}
