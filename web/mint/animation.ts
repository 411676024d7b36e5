import { type Motion, motionBytes, motionOf } from "../../src/ipfs/motion.ts";
import { ipfsPath } from "../shared/ipfs-path.ts";

/** What moves of a token; content of this server. */
export interface Animation {
  kind: Motion;
  /** From `/ipfs/` on. */
  path: string;
}

/** What of a token's document a visitor may play: what its `animation_url` names, else its picture, if that moves. */
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
  // A whole film must not be read for its beginning.
  if (answer.status !== 206) await answer.body?.cancel();
  else return motionOf(answer.headers.get("content-type") ?? "", new Uint8Array(await answer.arrayBuffer()));
  return null;
}
