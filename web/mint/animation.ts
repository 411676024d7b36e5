import { type Motion, motionBytes, motionOf } from "../../src/ipfs/motion.ts";
import { ipfsPath } from "../shared/ipfs-path.ts";

/** A token's animation, from this server. */
export interface Animation {
  kind: Motion;
  /** Path, beginning with `/ipfs/`. */
  path: string;
}

/** The animation in a token's document that may be played: its `animation_url`, else its picture if animated. */
export async function findAnimation(links: { animation: unknown; picture: unknown }): Promise<Animation | null> {
  for (const link of [links.animation, links.picture]) {
    const path = ipfsPath(link);
    const kind = path && (await motionAt(path).catch(() => null));
    if (kind) return { kind, path };
  }
  return null;
}

async function motionAt(path: string): Promise<Motion | null> {
  const answer = await fetch(path, { headers: { Range: `bytes=0-${motionBytes - 1}` } });
  // Without a range in the answer, the whole film would be read for its first bytes.
  if (answer.status !== 206) await answer.body?.cancel();
  else return motionOf(answer.headers.get("content-type") ?? "", new Uint8Array(await answer.arrayBuffer()));
  return null;
}
