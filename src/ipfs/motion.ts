/** The number of first bytes that `motionOf` looks at. */
export const motionBytes = 4_096;

/** How content moves: as a video, or as a picture with several frames. */
export type Motion = "video" | "image";

/**
 * Whether a page may play content, and how. This is decided by the type with which this service serves it and by its
 * first bytes, never by its link or name. HTML and SVG are excluded: they can run scripts. The mint page uses this too.
 *
 * @param type as the gateway serves it. @param head the first `motionBytes` of the content.
 * @returns null for still pictures, and for every other type.
 */
export function motionOf(type: string, head: Uint8Array): Motion | null {
  const text = String.fromCharCode(...head.subarray(0, motionBytes));
  // Pictures in the same container begin like videos.
  if (/^video\/(mp4|webm)\b/.test(type)) return /^.{4}ftyp(avi|he|mi|ms)/s.test(text) ? null : "video";
  return isAnimated(type, text) ? "image" : null;
}

/** Only a GIF's start is read: before its first frame, a repeating one says so, and one that plays once has a delay. */
function isAnimated(type: string, text: string): boolean {
  if (type === "image/gif") {
    const [, ...frames] = text.split("!\xf9\x04");
    const isTimed = frames.length > 1 || frames.some((frame) => frame.slice(1, 3) !== "\0\0");
    return isTimed || /NETSCAPE2\.0|ANIMEXTS1\.0/.test(text);
  }
  if (type === "image/avif") return /^.{4}ftyp.{0,40}avis/s.test(text);
  if (type === "image/webp") return text.startsWith("VP8X", 12) && (text.charCodeAt(20) & 2) !== 0;
  const control = type === "image/png" ? text.indexOf("acTL") : -1;
  return control >= 0 && !text.slice(0, control).includes("IDAT");
}
