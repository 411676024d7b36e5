import { exporter } from "ipfs-unixfs-exporter";
import type { CID } from "multiformats/cid";
import { header, section } from "./car-file.ts";
import { linksOf } from "./dag-links.ts";
import { type BlockSource, MissingBlock, storageOf } from "./missing-block.ts";

/** Of what the path leads to: everything below it; the file, or the directory without its entries; its one block. */
export type DagScope = "all" | "entity" | "block";

/**
 * A CAR of content: the blocks along the path, then those of what it leads to, depth first, each once. A few
 * blocks are in memory, each checked against its hash when it is read.
 *
 * @throws MissingBlock, before the first byte for what the path leads to.
 */
export async function* exportCar(
  blocks: BlockSource,
  root: CID,
  path: readonly string[],
  scope: DagScope,
): AsyncGenerator<Uint8Array> {
  const onTheWay: CID[] = [];
  const watched: BlockSource = {
    get: async (cid) => {
      onTheWay.push(cid);
      return await blocks.get(cid);
    },
  };
  const target = await exporter(path.length === 0 ? root : `${root}/${path.join("/")}`, storageOf(watched));
  const sent = new Set<string>();
  yield header(root);
  // The last is taken first.
  const ahead = [{ cid: target.cid, within: true }, ...onTheWay.reverse().map((cid) => ({ cid, within: false }))];
  for (let next = ahead.pop(); next; next = ahead.pop()) {
    const { cid, within } = next;
    const isTarget = cid.equals(target.cid);
    const key = cid.toString();
    if (sent.has(key) && !(isTarget && within)) continue;
    const bytes = await blocks.get(cid);
    if (!bytes) throw new MissingBlock(cid);
    if (!sent.has(key)) {
      yield section(cid, bytes.length);
      yield bytes;
      sent.add(key);
    }
    if (!within || scope === "block") continue;
    const links = (await linksOf(cid, bytes)).filter((link) => scope === "all" || link.within);
    for (const link of links.toReversed()) ahead.push({ cid: link.cid, within: true });
  }
}
