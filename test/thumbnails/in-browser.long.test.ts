import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { hasBrowser, openBrowser } from "../web/browser.ts";
import { askUntilMade, upload } from "./ask.ts";
import { innocent, plain } from "./pictures.ts";

let api: ApiServer;
beforeAll(async () => {
  api = await ApiServer.start({ RATE_LIMITS: "off" });
});
afterAll(() => api?.close());

test.skipIf(!hasBrowser)(
  "a browser sees the picture in its preview: size and colours, also of CMYK, 16 bits and drawings",
  async () => {
    const { key } = await api.account("enterprise");
    const red = plain(800, 400);
    const pictures = {
      png: await red.png().toBuffer(),
      "png of 16 bits": await red.toColourspace("rgb16").png().toBuffer(),
      jpeg: await red.removeAlpha().jpeg({ quality: 95 }).toBuffer(),
      "jpeg in CMYK": await plain(800, 400).removeAlpha().toColourspace("cmyk").jpeg({ quality: 95 }).toBuffer(),
      avif: await red.avif({ effort: 0 }).toBuffer(),
      gif: await red.gif().toBuffer(),
      drawing: innocent,
    };
    const browser = await openBrowser();
    const page = await browser.newPage();
    for (const [name, bytes] of Object.entries(pictures)) {
      const path = `256/${await upload(api, key, bytes)}`;
      await askUntilMade(api, path);
      const seen = await page.evaluate(async (url) => {
        const image = new Image();
        image.crossOrigin = "anonymous";
        image.src = url;
        await image.decode();
        const canvas = document.createElement("canvas");
        [canvas.width, canvas.height] = [image.naturalWidth, image.naturalHeight];
        const context = canvas.getContext("2d");
        context?.drawImage(image, 0, 0);
        const pixel = context?.getImageData(canvas.width / 2, canvas.height / 2, 1, 1).data ?? [];
        return { width: canvas.width, height: canvas.height, pixel: [...pixel] };
      }, `${api.url}/thumbnails/${path}`);
      expect([name, seen.width, seen.height]).toEqual([name, 256, name === "drawing" ? 256 : 128]);
      const off = [0xc0, 0x20, 0x40, 0xff].map((wanted, at) => Math.abs(wanted - (seen.pixel[at] ?? 0)));
      // No colour of print is as red.
      expect(Math.max(...off), `${name} ${seen.pixel}`).toBeLessThan(name === "jpeg in CMYK" ? 60 : 12);
    }
    await browser.close();
  },
);
