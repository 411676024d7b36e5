// Stores a file that is larger than the disk, then one that fits, and prints what came of it.
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { loadConfig } from "../../src/config/config.ts";
import { ServiceError } from "../../src/errors/errors.ts";
import { createServices } from "../../src/processes/create-services.ts";

const [folder = "", url = ""] = process.argv.slice(2);
const services = createServices(
  loadConfig({ DATABASE_URL: url, MINTYARD_DATA_DIR: folder, LOG_LEVEL: "silent", MIN_FREE_DISK_BYTES: "0" }),
  "test",
);

async function* noise(bytes: number): AsyncGenerator<Uint8Array> {
  for (let sent = 0; sent < bytes; sent += 500_000) yield chunk();
}

function chunk(): Uint8Array {
  const bytes = new Uint8Array(500_000);
  for (let at = 0; at < bytes.length; at += 50_000) crypto.getRandomValues(bytes.subarray(at, at + 50_000));
  return bytes;
}

const record = async (_: unknown, { sizeBytes }: { sizeBytes: number }) => sizeBytes;
mkdirSync(join(folder, "ipfs"), { recursive: true });
const refused = await services.content.addFile({ stream: noise(20_000_000) }, record).catch((error: unknown) => {
  if (!(error instanceof ServiceError)) throw error;
  return { code: error.code, status: error.status };
});
const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
const stored = await services.content.addFile({ stream: noise(4_000_000) }, record);
process.stdout.write(JSON.stringify({ refused, left: files.map(({ name }) => name), stored }));
await services.content.close();
await services.pool.end();
