import type { IncomingMessage, RequestListener } from "node:http";
import { LRUCache } from "lru-cache";
import { corsHeaders } from "../http/common-headers.ts";
import { newRequestId } from "../http/request-id.ts";

interface FastFile {
  headers: Record<string, string>;
  bytes: Uint8Array;
}

const largestFile = 262_144;
const allBytes = 16_777_216;
/** As long as the content store caches an entry. */
const keptMs = 5_000;

/** Headers that may change the answer from the whole file to something else. */
const deciding = ["range", "if-range", "if-none-match", "service-worker"] as const;
/** Accepted types for which the gateway answers something else than the file. */
const otherTypes = /vnd\.ip(ld|fs)|x-tar/i;

/**
 * Repeats small files that the gateway answered whole a moment ago, before Hono: the layers around such an answer cost
 * several times as much as the file. Anything but a plain GET takes the ordinary path; test/http/fast-files.test.ts
 * compares both.
 */
export class FastFiles {
  readonly #files = new LRUCache<string, FastFile>({
    ttl: keptMs,
    maxSize: allBytes,
    sizeCalculation: (file) => Math.max(file.bytes.length, 1),
  });

  /** @param headers of the gateway; common headers are added when the file is served. */
  keep(request: IncomingMessage | undefined, headers: Record<string, string>, bytes: Uint8Array): void {
    if (bytes.length > largestFile || !request || !isPlain(request)) return;
    this.#files.set(request.url ?? "", { headers, bytes });
  }

  /**
   * Serves cached files and passes everything else on.
   *
   * @param mayHave whether this client may be served at once; otherwise it waits on the ordinary path.
   */
  before(ordinary: RequestListener, mayHave: (request: IncomingMessage) => boolean = () => true): RequestListener {
    return (request, response) => {
      const file = isPlain(request) ? this.#files.get(request.url ?? "") : undefined;
      if (!file || !mayHave(request)) return ordinary(request, response);
      response.writeHead(200, { "X-Request-Id": newRequestId(), ...corsHeaders, ...file.headers });
      response.end(file.bytes);
    };
  }
}

function isPlain({ method, url = "", headers }: IncomingMessage): boolean {
  if (method !== "GET" || !url.startsWith("/ipfs/") || url.includes("?")) return false;
  return deciding.every((name) => headers[name] === undefined) && !otherTypes.test(headers.accept ?? "");
}
