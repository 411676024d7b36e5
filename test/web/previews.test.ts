import { expect, test } from "vitest";
import { motionOf } from "../../src/ipfs/motion.ts";
import { thumbnailWidths } from "../../src/thumbnails/bounds.ts";
import { ipfsPath } from "../../web/shared/ipfs-path.ts";
import { previewsOf, tokenPreviews } from "../../web/shared/previews.ts";

test("a page asks for widths that the service makes, the first that is as wide as the picture's place", () => {
  const { src, srcSet, sizes } = previewsOf("/ipfs/bafy/7.png", 200);
  expect([src, sizes]).toEqual(["/thumbnails/256/bafy/7.png", "200px"]);
  expect(srcSet).toBe(thumbnailWidths.map((width) => `/thumbnails/${width}/bafy/7.png ${width}w`).join(", "));
  expect(previewsOf("https://elsewhere.example/7.png", 200)).toMatchObject({
    src: "https://elsewhere.example/7.png",
    srcSet: "",
  });
  expect(previewsOf("/ipfs/bafy", 2_000).src).toBe("/thumbnails/1024/bafy");
});

test("a name with spaces and commas is one link of the set", () => {
  const { srcSet } = previewsOf("/ipfs/bafy/a, b.png", 120);
  expect(srcSet.split(", ").map((link) => link.split(" ").length)).toEqual(thumbnailWidths.map(() => 2));
  expect(srcSet).toContain("/thumbnails/128/bafy/a%2C%20b.png 128w");
});

test("where no preview is made the picture itself is shown, and asked for once", () => {
  const { onError, ...attributes } = previewsOf("/ipfs/bafy/7.svg", 200);
  const image = { src: attributes.src, srcset: attributes.srcSet } as HTMLImageElement;
  onError({ currentTarget: image });
  expect([image.src, image.srcset]).toEqual(["/ipfs/bafy/7.svg", ""]);
  image.src = "seen";
  onError({ currentTarget: image });
  expect(image.src).toBe("seen");
});

test("a token has the previews that the service names, and in their place what is here or in the link itself", () => {
  const shownOf = (thumbnailUrl: string | null, fileUrl: string | null) => {
    let isNone = false;
    const previews = tokenPreviews({ thumbnailUrl, fileUrl }, 200, () => {
      isNone = true;
    });
    if (!previews) return null;
    const image = { src: previews.src, srcset: previews.srcSet } as HTMLImageElement;
    const first = image.src;
    previews.onError({ currentTarget: image });
    const instead = isNone ? null : image.src;
    previews.onError({ currentTarget: image });
    return [first, instead, isNone];
  };
  const linked = "https://mint.example/thumbnails/512/nfts/goerli/0xaa/7";
  expect(shownOf("https://mint.example/thumbnails/512/bafy", "ipfs://bafy")).toEqual([
    ...["/thumbnails/256/bafy", "/ipfs/bafy", true],
  ]);
  expect(shownOf(linked, "https://a.example/7.png")).toEqual(["/thumbnails/256/nfts/goerli/0xaa/7", null, true]);
  expect(shownOf(linked, "data:image/svg+xml,x")?.[1]).toBe("data:image/svg+xml,x");
  expect(shownOf(linked, "data:text/html,x")?.[1]).toBeNull();
  expect(shownOf(null, "https://a.example/7.png")).toBeNull();
});

test("content of a token is asked for below /ipfs of this server and nowhere else", () => {
  expect(ipfsPath("ipfs://bafy/7.mp4")).toBe("/ipfs/bafy/7.mp4");
  expect(ipfsPath("ipfs://ipfs/bafy")).toBe("/ipfs/bafy");
  const others = [
    "https://a.example/7.mp4",
    "//a.example/7.mp4",
    "javascript:alert(1)",
    "data:text/html,x",
    "",
    null,
    {},
  ];
  const dots = ["ipfs://../console", "ipfs://bafy/../../console", "ipfs://%2e%2e/console", "ipfs://..\\console"];
  for (const link of [...others, ...dots]) expect([link, ipfsPath(link)]).toEqual([link, null]);
});

test("what moves is a video, or a picture whose beginning says that it has several frames", () => {
  const bytes = (text: string) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));
  const png = (...chunks: string[]) => bytes(`\x89PNG\r\n\x1a\n${chunks.join("....")}`);
  const webp = (flags: string) => bytes(`RIFF....WEBPVP8X\x0a\0\0\0${flags}`);
  expect(motionOf("video/webm", bytes("\x1aE\xdf\xa3"))).toBe("video");
  expect(motionOf("video/mp4", bytes("\0\0\0\x20ftypisom"))).toBe("video");
  for (const brand of ["avis", "heic", "mif1"])
    expect([brand, motionOf("video/mp4", bytes(`\0\0\0\x20ftyp${brand}`))]).toEqual([brand, null]);
  expect([
    motionOf("image/png", png("IHDR", "acTL", "IDAT")),
    motionOf("image/png", png("IHDR", "IDAT", "acTL")),
  ]).toEqual([...["image", null]]);
  expect([motionOf("image/webp", webp("\x12")), motionOf("image/webp", webp("\x10"))]).toEqual(["image", null]);
  expect(motionOf("image/gif", bytes("GIF89a..NETSCAPE2.0"))).toBe("image");
  // It plays once; one that stands still may have a colour that is seen through, and no time.
  expect(motionOf("image/gif", bytes("GIF89a..!\xf9\x04\x01\x0a\0\0\0,"))).toBe("image");
  expect([
    motionOf("image/gif", bytes("GIF89a")),
    motionOf("image/gif", bytes("GIF89a!\xf9\x04\x01\0\0\0\0,")),
  ]).toEqual([...[null, null]]);
  expect([
    motionOf("image/avif", bytes("\0\0\0\x2cftypavis")),
    motionOf("image/avif", bytes("\0\0\0\x20ftypavif")),
  ]).toEqual([...["image", null]]);
  for (const type of ["text/html", "image/svg+xml", "video/ogg", "model/gltf-binary", "constructor", ""])
    expect([type, motionOf(type, bytes("GIF89a..NETSCAPE2.0 acTL"))]).toEqual([type, null]);
});
