/** Widths of previews that the service makes. */
const widths = [128, 256, 512, 1024];

/**
 * Attributes of an `img` for a picture on this server: its previews, of which the browser chooses the one that fits the
 * screen. If no preview can be made, the picture itself is shown.
 *
 * @param path of the picture, from `/ipfs/` on; of a picture elsewhere there are no previews.
 * @param width in CSS pixels, as it is laid out.
 * @param query `?still=true`: they fail where there is nothing but a picture that moves.
 */
export function previewsOf(path: string, width: number, query = "") {
  if (!path.startsWith("/ipfs/")) return { src: path, srcSet: "", sizes: "", onError: () => undefined };
  // Both characters end a link in `srcset`.
  const written = path
    .replace(/^\/ipfs\//, "")
    .replaceAll(" ", "%20")
    .replaceAll(",", "%2C");
  return { ...linksOf(written, width, query), onError: showInstead(path) };
}

/**
 * The same for a token. If no preview can be made, its picture is shown only if it is on this server or within the link
 * itself: other servers must not learn who is looking.
 *
 * @param onNone is called when there is nothing to show.
 * @returns null for a token without previews.
 */
export function tokenPreviews(
  { thumbnailUrl, fileUrl }: { thumbnailUrl: string | null; fileUrl: string | null },
  width: number,
  onNone: () => void,
) {
  // The page may have been opened under another name of this server.
  const written = /\/thumbnails\/\d+\/(.+)$/.exec(thumbnailUrl ?? "")?.[1];
  const content = /^ipfs:\/*(?:ipfs\/)?(.+)$/i.exec(fileUrl ?? "")?.[1];
  if (written === undefined) return content === undefined ? null : previewsOf(`/ipfs/${content}`, width);
  const own = written.startsWith("nfts/") ? content : written;
  const drawn = fileUrl !== null && /^data:image\//i.test(fileUrl) ? fileUrl : null;
  return { ...linksOf(written, width), onError: showInstead(own === undefined ? drawn : `/ipfs/${own}`, onNone) };
}

function linksOf(written: string, width: number, query = "") {
  const link = (pixels: number) => `/thumbnails/${pixels}/${written}${query}`;
  return {
    src: link(widths.find((pixels) => pixels >= width) ?? 1024),
    srcSet: widths.map((pixels) => `${link(pixels)} ${pixels}w`).join(", "),
    sizes: `${width}px`,
  };
}

/** Replaces a picture that cannot be shown, once. */
function showInstead(picture: string | null, onNone: () => void = () => undefined) {
  return ({ currentTarget: image }: { currentTarget: HTMLImageElement }) => {
    // The replacement cannot be shown either.
    if (picture === null || image.srcset === "") return onNone();
    image.srcset = "";
    image.src = picture;
  };
}
