import { identiconOf } from "../../shared/identicon.ts";

const count = 10;
const side = 600;

/** Ten different pictures for a trial launch, as a folder would have them. */
export async function samplePictures(): Promise<{ path: string; file: File }[]> {
  return await Promise.all(
    Array.from({ length: count }, async (_, id) => {
      const path = `${id}.png`;
      return { path, file: new File([await draw(id)], path, { type: "image/png" }) };
    }),
  );
}

function draw(id: number): Promise<Blob> {
  const canvas = document.createElement("canvas");
  canvas.width = side;
  canvas.height = side;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser draws no pictures.");
  const { path, colour } = identiconOf(`sample ${id}`);
  context.fillStyle = "#f4f2ec";
  context.fillRect(0, 0, side, side);
  context.translate(side / 12, side / 12);
  context.scale(side / 6, side / 6);
  context.fillStyle = colour;
  context.fill(new Path2D(path));
  return new Promise((done, failed) =>
    canvas.toBlob((blob) => (blob ? done(blob) : failed(new Error("This browser makes no PNG."))), "image/png"),
  );
}
