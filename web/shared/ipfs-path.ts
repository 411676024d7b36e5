/**
 * The path on this server of content on IPFS, `/ipfs/…`, even if the link is to another gateway.
 *
 * @param link from a document, which anybody may have written.
 * @returns null for every other link.
 */
export function ipfsPath(link: unknown): string | null {
  const rest =
    typeof link === "string" ? /^(?:ipfs:\/*(?:ipfs\/)?|https?:\/\/[^/]+\/ipfs\/)(.+)$/.exec(link)?.[1] : undefined;
  const path = `/ipfs/${rest}`;
  // Dot segments would lead to other pages of this server.
  return rest !== undefined && new URL(path, "http://here").pathname.startsWith("/ipfs/") ? path : null;
}
