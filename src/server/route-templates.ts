import { createOpenApi } from "../rest/openapi.ts";

/** Below a CID a path may be as deep as its directory. */
const deepest: Partial<Record<string, number>> = { ipfs: 2, thumbnails: 3 };
const ofTokens = /^\/thumbnails\/[^/]+\/nfts\//;

type Node = Map<string, Node>;

/** Routes that are not in the OpenAPI document; `{…}` stands for any one segment. */
const others = [
  ...["/", "/graphql", "/ipfs/{cid}", "/thumbnails/{width}/{cid}", "/docs", "/docs/{page}", "/docs/{page}/{name}"],
  "/thumbnails/{width}/nfts/{chain}/{contract_address}/{token_id}",
  ...["/auth/{step}", "/mint/{chain}/{collection}", "/mint/{chain}/{collection}/{part}", "/local-wallet/{chain}"],
  ...[
    "/console",
    "/console/requests",
    "/console/{page}",
    "/console/{page}/{name}",
    "/console/{page}/{chain}/{address}",
  ],
  ...["/assets/{file}", "/livez", "/readyz", "/status", "/metrics"],
];

/**
 * Maps a path to its route's template, whichever code answers it, so that metrics per route have few labels whatever
 * clients request.
 *
 * @returns e.g. `/v0/nfts/{contract_address}/{token_id}`; `other` for paths that are not served.
 */
export function routeTemplates(): (path: string) => string {
  const root: Node = new Map();
  const documented = Object.keys(createOpenApi()["paths"] as Record<string, unknown>);
  for (const template of [...documented, ...others]) {
    let node = root;
    for (const part of template.split("/").filter(Boolean)) {
      const key = part.startsWith("{") ? "*" : part;
      const next: Node = node.get(key) ?? new Map();
      node.set(key, next);
      node = next;
    }
    node.set("=", new Map([[template, new Map()]]));
  }
  const find = (node: Node, parts: readonly string[], at: number): string | null => {
    const part = parts[at];
    if (part === undefined) return node.get("=")?.keys().next().value ?? null;
    const named = node.get(part);
    const any = node.get("*");
    return (named && part !== "=" && find(named, parts, at + 1)) || (any && find(any, parts, at + 1)) || null;
  };
  return (path) => {
    const parts = (path.split("?", 1)[0] ?? "").split("/").filter(Boolean);
    const depth = ofTokens.test(path) ? undefined : deepest[parts[0] ?? ""];
    return find(root, parts.slice(0, depth ?? 8), 0) ?? "other";
  };
}
