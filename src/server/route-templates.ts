import { createOpenApi } from "../rest/openapi.ts";

/** Below a CID, a path is as long as its directory is deep. */
const deepest: Partial<Record<string, number>> = { ipfs: 2, thumbnails: 3 };
const ofTokens = /^\/thumbnails\/[^/]+\/nfts\//;

type Node = Map<string, Node>;

/** What is served beside the paths of the OpenAPI document; `{…}` stands for any one segment. */
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
 * Names the route of a path by its template, whichever code answers it: so that a number per route stays a
 * number of few, whatever clients ask for.
 *
 * @returns e.g. `/v0/nfts/{contract_address}/{token_id}`; `other` for what is not served.
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
