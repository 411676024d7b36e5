// Imports a file of as many MiB as its argument says, and prints its size and how much its buffers took beyond what was there before.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { compactHeap } from "../../src/compact-heap.ts";
import { CarFile } from "../../src/ipfs/car-file.ts";
import { importFile } from "../../src/ipfs/import-content.ts";

const mebibyte = 1_048_576;
const size = Number(process.argv[2]);
const folder = await mkdtemp(join(tmpdir(), "mintyard-memory-"));
const car = await CarFile.create(folder);
try {
  await compactHeap();
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  // As a connection gives it: each piece in a buffer of its own.
  async function* stream() {
    for (let at = 0; at < size * 16; at += 1) {
      yield Buffer.allocUnsafeSlow(mebibyte / 16).fill(at);
      most = Math.max(most, process.memoryUsage().arrayBuffers - before);
    }
  }
  const { sizeBytes } = await importFile({ stream: stream() }, car);
  console.log(JSON.stringify({ sizeBytes, most }));
} finally {
  await car.discard();
  await rm(folder, { recursive: true, force: true });
}
