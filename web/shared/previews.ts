/** Widths of previews that the service makes. */
const widths = [128, 256, 512, 1024];

/**
 * Attributes of an `img` for a picture of this server: its previews, of which the browser takes the one that fits the screen.
 * Where none is made, the picture itself is shown.
 *
 * @param path of the picture, from `/ipfs/` on; of a picture elsewhere there are no previews.
 * @param width in CSS pixels, as it is laid out.
 */
export function previewsOf(path: string, width: number) {
  if (!path.startsWith("/ipfs/")) return { src: path, srcSet: "", sizes: "", onError: () => undefined };
  // Both end a link in `srcset`.
  const written = path
    .replace(/^\/ipfs\//, "")
    .replaceAll(" ", "%20")
    .replaceAll(",", "%2C");
  const link = (pixels: number) => `/thumbnails/${pixels}/${written}`;
  return {
    src: link(widths.find((pixels) => pixels >= width) ?? 1024),
    srcSet: widths.map((pixels) => `${link(pixels)} ${pixels}w`).join(", "),
    sizes: `${width}px`,
    onError: ({ currentTarget: image }: { currentTarget: HTMLImageElement }) => {
      // The picture itself cannot be shown either.
      if (image.srcset === "") return;
      image.srcset = "";
      image.src = path;
    },
  };
}
