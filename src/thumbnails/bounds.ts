/** Widths of previews in pixels. Others are refused, so that nobody can fill the cache with sizes of one picture. */
export const thumbnailWidths = [128, 256, 512, 1024] as const;
export type ThumbnailWidth = (typeof thumbnailWidths)[number];

/** A preview is at most this many times as high as it is wide. */
export const highest = 2;

/** A larger file is not read. */
export const mostPictureBytes = 33_554_432;

/** Decoding takes memory in proportion to this. SVGs are exempt: they are drawn at the size of the preview. */
export const mostPixels = 50_000_000;

/** A picture that can only be decoded as a whole is refused if its pixels take more bytes than this. */
export const mostWholeBytes = 268_435_456;

/** Memory of the decoding process, including 70 MB of the program itself. Above it the process ends itself. */
export const mostProcessBytes = 671_088_640;

/** The most time for one picture; then the process is killed. */
export const mostMs = 10_000;
