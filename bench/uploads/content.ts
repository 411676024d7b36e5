import { createCipheriv, createHash } from "node:crypto";

export interface MetadataFile {
  name: string;
  bytes: Buffer;
}

/** Metadata as a collection has it, about 700 bytes each; each round has different bytes. */
export function metadataFiles(count: number, round: number): MetadataFile[] {
  return Array.from({ length: count }, (_, id) => {
    const attributes = ["Background", "Fur", "Eyes", "Mouth", "Clothes", "Hat"].map((trait_type, index) => ({
      trait_type,
      value: createHash("md5").update(`${round} ${id} ${index}`).digest("hex").slice(0, 12),
    }));
    const document = {
      name: `Bench #${id}`,
      description: `One of ${count}, made in round ${round} to see how long an upload of a whole collection takes.`,
      image: `ipfs://bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi/${id}.png`,
      attributes,
    };
    return { name: `${id}.json`, bytes: Buffer.from(JSON.stringify(document, null, 1)) };
  });
}

const boundary = "bench-5b1f0c";
export const multipartType = `multipart/form-data; boundary=${boundary}`;
const head = (part: string, name: string, type: string) =>
  Buffer.from(
    `--${boundary}\r\nContent-Disposition: form-data; name="${part}"; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n`,
  );
const tail = Buffer.from(`--${boundary}--\r\n`);
const line = Buffer.from("\r\n");

export function directoryBody(files: readonly MetadataFile[]): Buffer {
  const parts = files.flatMap(({ name, bytes }) => [head("metadata_files", name, "application/json"), bytes, line]);
  return Buffer.concat([...parts, tail]);
}

/** A form with one file of noise, generated while it is sent. */
export function fileBody(sizeBytes: number, seed: string): { length: number; chunks: Iterable<Buffer> } {
  const start = head("file", "large.bin", "application/octet-stream");
  return { length: start.length + sizeBytes + line.length + tail.length, chunks: chunks() };

  function* chunks() {
    yield start;
    const noise = createCipheriv("aes-128-ctr", createHash("md5").update(seed).digest(), Buffer.alloc(16));
    const zeros = Buffer.alloc(1_048_576);
    for (let left = sizeBytes; left > 0; left -= zeros.length) yield noise.update(zeros.subarray(0, left));
    yield Buffer.concat([line, tail]);
  }
}
