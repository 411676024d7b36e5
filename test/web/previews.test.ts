import { expect, test } from "vitest";
import { thumbnailWidths } from "../../src/thumbnails/bounds.ts";
import { previewsOf } from "../../web/shared/previews.ts";

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
