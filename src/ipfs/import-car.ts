import { asyncIterableReader, readBlockHead, readHeader } from "@ipld/car/decoder";
import type { CID } from "multiformats/cid";
import { ServiceError } from "../errors/errors.ts";
import { isBlockOf, keyOf, sha256 } from "./block-hash.ts";
import type { CarFile } from "./car-file.ts";
import { linksOf } from "./dag-links.ts";

/** Twice the size of the largest block that IPFS nodes pass on. */
const largestBlock = 4_194_304;
const longestHeader = 65_536;

/**
 * Copies the blocks of a CAR into a CAR of ours, one at a time, each checked against its hash.
 *
 * @returns the root; every block below it is in the CAR.
 * @throws ServiceError `value_error` for a file that is no CAR or breaks off, several roots, a block that does not
 *   match its CID, an incomplete tree, or content that is no file tree.
 */
export async function importCar(source: AsyncIterable<Uint8Array>, car: CarFile): Promise<CID> {
  const reader = asyncIterableReader(source);
  const [root, ...others] = await refusing("this is no CAR file", async () => {
    const start = await reader.upTo(10);
    // The header begins with its length, and a file that is no CAR may give any number there.
    if (headerLength(start) > longestHeader) throw new Error("its header is too long");
    return (await readHeader(reader, 1)).roots;
  });
  if (!root || others.length > 0) {
    throw new ServiceError("value_error", `the CAR names ${others.length + (root ? 1 : 0)} roots; one is wanted`);
  }
  const seen = new Set<string>();
  const wanted = new Map<string, CID>([[keyOf(root.multihash.bytes), root]]);
  while ((await reader.upTo(1)).length > 0) {
    const { cid, bytes } = await refusing("the CAR is damaged or breaks off", async () => {
      const head = await readBlockHead(reader);
      if (head.blockLength > largestBlock) throw new Error(`${head.cid} is over ${largestBlock} bytes`);
      const found = { cid: head.cid, bytes: (await reader.exactly(head.blockLength, true)).slice() };
      if (found.cid.multihash.code !== sha256) throw new Error(`${found.cid} has another hash than sha2-256`);
      if (!isBlockOf(found.cid, found.bytes)) throw new Error(`${found.cid} is not what it says`);
      return found;
    });
    seen.add(keyOf(cid.multihash.bytes));
    const links = await refusing("the CAR holds more than files and folders", () => linksOf(cid, bytes));
    for (const link of links) wanted.set(keyOf(link.cid.multihash.bytes), link.cid);
    await car.put(cid, bytes);
  }
  for (const [key, cid] of wanted) {
    if (!seen.has(key)) throw new ServiceError("value_error", `the CAR is not whole: ${cid} is missing`);
  }
  return root.toV1();
}

function headerLength(bytes: Uint8Array): number {
  let length = 0;
  for (const [index, byte] of bytes.entries()) {
    length += (byte & 0x7f) * 2 ** (7 * index);
    if (byte < 0x80) return length;
  }
  return Number.POSITIVE_INFINITY;
}

async function refusing<T>(what: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    // A failing disk is no fault of the CAR.
    if ((cause as NodeJS.ErrnoException | null)?.code?.startsWith("E")) throw cause;
    const why = cause instanceof Error ? cause.message.slice(0, 200) : "";
    throw new ServiceError("value_error", `${what}: ${why}`, { cause });
  }
}
