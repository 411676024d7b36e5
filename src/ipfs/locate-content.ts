import { type Kysely, sql } from "kysely";
import { CID } from "multiformats/cid";
import type { Database } from "../db/database.ts";
import type { LongWork } from "../long-work.ts";
import { identity } from "./block-hash.ts";
import type { BlockReader } from "./block-reader.ts";
import { walk } from "./resolve-content.ts";

export interface ContentLocation {
  /** CIDv1, base32. */
  cid: string;
  path: readonly string[];
}

/** Locations below a CID that is no known root need a walk. This bounds what a page of third-party links may cost. */
const mostWalks = 200;
/** Locations per statement: one statement with many thousands would be one long blocking step. */
const together = 250;

/** `nowhere`: the root is completely stored here and has no such entry, so nobody can have it. */
export type Whereabouts = "here" | "elsewhere" | "nowhere";

/** The whereabouts of each location's content; `here` for those that would cost too much to find out. */
export async function locateContent(
  db: Kysely<Database>,
  blocks: BlockReader,
  locations: readonly ContentLocation[],
  work: LongWork,
): Promise<Whereabouts[]> {
  const found: Whereabouts[] = [];
  const walks = { left: mostWalks };
  for (let start = 0; start < locations.length; start += together) {
    await work.pause();
    found.push(...(await locateTogether(db, blocks, locations.slice(start, start + together), walks)));
  }
  return found;
}

async function locateTogether(
  db: Kysely<Database>,
  blocks: BlockReader,
  locations: readonly ContentLocation[],
  walks: { left: number },
): Promise<Whereabouts[]> {
  const cids = locations.map(({ cid }) => CID.parse(cid));
  // No entry has such a name, and Postgres refuses the text.
  const paths = locations.map(({ path }) => path.join("/").replaceAll("\0", "\ufffd").toWellFormed());
  const { rows } = await sql<{ root: boolean; entry: boolean; block: boolean }>`
    SELECT coalesce(car.listed, false) AS root,
      entry.cid IS NOT NULL OR (car.id IS NOT NULL AND asked.path = '') AS entry,
      EXISTS (SELECT FROM service.block b WHERE b.multihash = asked.multihash) AS block
    FROM unnest(${locations.map(({ cid }) => cid)}::text[], ${paths}::text[],
      ${cids.map(({ multihash }) => Buffer.from(multihash.bytes))}::bytea[])
      WITH ORDINALITY AS asked (cid, path, multihash, position)
    LEFT JOIN service.car car ON car.root = asked.cid
    LEFT JOIN service.content_entry entry ON entry.car_id = car.id AND entry.path = asked.path
    ORDER BY asked.position`.execute(db);
  const found: Whereabouts[] = [];
  for (const [index, { root, entry, block: stored }] of rows.entries()) {
    const path = locations[index]?.path ?? [];
    const cid = cids[index];
    const block = stored || cid?.multihash.code === identity;
    if (entry) found.push("here");
    else if (root && path.length > 0) found.push("nowhere");
    else if (!block || path.length === 0 || !cid) found.push(block && path.length === 0 ? "here" : "elsewhere");
    else found.push(--walks.left < 0 || (await walk(blocks, cid, path)) !== null ? "here" : "elsewhere");
  }
  return found;
}
