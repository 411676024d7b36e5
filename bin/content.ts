import { createReadStream } from "node:fs";
import { open, rename, unlink } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { loadConfig } from "../src/config/config.ts";
import { createDatabase, createPool } from "../src/db/pool/pool.ts";
import { type ContentStore, openContentStore } from "../src/ipfs/content-store.ts";

/** `mintyard import FILE.car`: imports the whole file tree with each block verified, or nothing. */
export async function runImport(file: string): Promise<number> {
  return await withStore(async (store) => {
    const { cid, blocks } = await store.importCar(createReadStream(file, { highWaterMark: 1_048_576 }));
    process.stdout.write(`${JSON.stringify({ import: file, cid, blocks })}\n`);
    return 0;
  });
}

/** `mintyard export CID [FILE.car]`: writes stored content as a CAR; without a file, to standard output. */
export async function runExport(cid: string, file: string | undefined): Promise<number> {
  return await withStore(async (store) => {
    const car = await store.exportCar(cid, [], { scope: "all" });
    if (car === null || car === "outside") throw new Error(`${cid} is not stored here`);
    if (file) await writeWhole(file, car);
    else await pipeline(Readable.from(car, { objectMode: false }), process.stdout, { end: false });
    return 0;
  });
}

/** The file appears only when it is complete and on disk. */
async function writeWhole(file: string, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  const part = `${file}.part`;
  const handle = await open(part, "w");
  try {
    for await (const chunk of chunks) await handle.writeFile(chunk);
    await handle.sync();
    await rename(part, file);
  } catch (error) {
    await unlink(part);
    // The error of a write to a full disk does not name the file.
    throw Object.assign(error as Error, { path: file });
  } finally {
    await handle.close();
  }
}

async function withStore<T>(use: (store: ContentStore) => Promise<T>): Promise<T> {
  const config = loadConfig();
  const pool = createPool(config.databaseUrl, "content", 2);
  const store = openContentStore(config, createDatabase(pool));
  try {
    return await use(store);
  } finally {
    await store.close();
    await pool.end();
  }
}
