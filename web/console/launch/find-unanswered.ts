import type { ResultOf } from "gql.tada";
import { graphql } from "../../../client/src/graphql.ts";
import { api } from "../api.ts";
import type { UploadJob } from "./upload.ts";

const query = graphql(`query ($from: DateTime, $after: String) {
  viewer { uploads(kinds: [FILE], from: $from, first: 100, after: $after) {
    nodes { cid } pageInfo { hasNextPage endCursor }
  } }
}`);

type Uploads = NonNullable<NonNullable<ResultOf<typeof query>["viewer"]>["uploads"]>;

/** How far this machine's clock may be ahead of the server's. */
const clockMs = 300_000;
const mostPages = 20;

/**
 * Looks for files that a closed tab had sent without getting an answer, so that they are not sent twice. The CID of a
 * file of one block follows from its SHA-256; a larger file is sent again.
 */
export async function findUnanswered({ account, stored }: Pick<UploadJob, "account" | "stored">): Promise<void> {
  const unanswered = await stored.unanswered(account);
  if (!unanswered) return;
  const wanted = new Map(unanswered.hashes.map((hash) => [cidOfBlock(hash), hash]));
  const from = new Date(Date.parse(unanswered.since) - clockMs).toISOString();
  let after: string | null = null;
  // Newest first, so a closed tab's last files come early.
  for (let page = 0; page < mostPages && wanted.size > 0; page += 1) {
    const answer: ResultOf<typeof query> = await api.graphql(query, { from, after });
    const uploads: Uploads | null | undefined = answer.viewer?.uploads;
    if (!uploads) return;
    const { nodes, pageInfo } = uploads;
    for (const { cid } of nodes) {
      const hash = wanted.get(cid);
      if (hash === undefined) continue;
      await stored.add(account, hash, cid);
      wanted.delete(cid);
    }
    if (!pageInfo.hasNextPage) return;
    after = pageInfo.endCursor;
  }
}

const alphabet = "abcdefghijklmnopqrstuvwxyz234567";

/** CIDv1, raw, SHA-256, in base32. @param hash in hexadecimal. */
function cidOfBlock(hash: string): string {
  let bits = 0;
  let value = 0;
  let text = "b";
  for (const byte of `01551220${hash}`.match(/../g) ?? []) {
    value = ((value << 8) | Number.parseInt(byte, 16)) & 0xffff;
    for (bits += 8; bits >= 5; bits -= 5) text += alphabet[(value >> (bits - 5)) & 31];
  }
  return bits > 0 ? text + alphabet[(value << (5 - bits)) & 31] : text;
}
