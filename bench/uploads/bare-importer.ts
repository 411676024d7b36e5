// The baseline: ipfs-unixfs-importer and a CAR on disk, files from memory, nothing else. Started by bench-uploads.ts,
// which starts each round over IPC and gets its duration.
import { createWriteStream } from "node:fs";
import { unlink } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { CarWriter } from "@ipld/car/writer";
import { importer } from "ipfs-unixfs-importer";
import { CID } from "multiformats/cid";
import { importerOptions } from "../../src/ipfs/profile.ts";
import { metadataFiles } from "./content.ts";

const placeholder = CID.parse("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku");

process.on("message", async ({ count, round, path }: { count: number; round: number; path: string }) => {
  const files = metadataFiles(count, round);
  const startedAt = performance.now();
  const { writer, out } = CarWriter.create([placeholder]);
  const written = pipeline(Readable.from(out), createWriteStream(path));
  const blocks = {
    put: async (cid: CID, bytes: unknown) => {
      await writer.put({ cid, bytes: bytes as Uint8Array });
      return cid;
    },
  };
  const source = files.map(({ name, bytes }) => ({ path: name, content: bytes }));
  let root = "";
  for await (const { cid } of importer(source, blocks, { ...importerOptions, wrapWithDirectory: true }))
    root = cid.toString();
  await writer.close();
  await written;
  process.send?.({ ms: performance.now() - startedAt, root });
  await unlink(path);
});
process.on("disconnect", () => process.exit(0));
process.send?.({ type: "ready" });
