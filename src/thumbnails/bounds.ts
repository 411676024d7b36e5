/** Widths in pixels in which previews are made. Others are refused, so that nobody fills the cache with sizes of one picture. */
export const thumbnailWidths = [128, 256, 512, 1024] as const;
export type ThumbnailWidth = (typeof thumbnailWidths)[number];

/** A preview is at most that many times as high as it is wide. */
export const highest = 2;

/** A larger file is not read. */
export const mostPictureBytes = 33_554_432;

/** What decoding takes in memory grows with this. Of drawings nothing is decoded; they are drawn in the size of the preview. */
export const mostPixels = 50_000_000;

/** A picture that only decodes as a whole is refused before it takes more, in bytes of its pixels. */
export const mostWholeBytes = 268_435_456;

/** Memory of the process that decodes, its program's own 70 MB included; beyond it the process ends itself. */
export const mostProcessBytes = 671_088_640;

/** How long one picture may take; then the process is killed. */
export const mostMs = 10_000;
