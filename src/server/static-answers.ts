import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Context, MiddlewareHandler } from "hono";
import { LRUCache } from "lru-cache";
import type { AppEnv } from "../http/app-env.ts";
import { matchesEtag } from "../http/etag.ts";

type Coding = "identity" | "gzip" | "br";
type Bytes = Uint8Array<ArrayBuffer>;

interface StaticAnswer {
  headers: Record<string, string>;
  bodies: Partial<Record<Coding, Bytes>> & { identity: Bytes };
}

const allBytes = 33_554_432;
const compressible = /^(text\/|application\/json|image\/svg)/;
/** Compressing less would not save a packet. */
const leastBytes = 1_024;
/** The best quality takes seconds per megabyte. */
const quality = 6;

/** Answers that are the same for everybody: made once, compressed once, and not resent to clients that have them. */
export class StaticAnswers {
  /** By name, and by content hash. */
  readonly #kept = new LRUCache<string, StaticAnswer>({ maxSize: allBytes, sizeCalculation: sizeOf });
  readonly #making = new Map<string, Promise<StaticAnswer>>();

  /**
   * Middleware for GET routes, whose handlers also answer HEAD.
   *
   * @param nameOf the cache key. Null: the answer is made for each request, and compressed if its content is new.
   */
  before(nameOf: (c: Context<AppEnv>) => Promise<string | null>): MiddlewareHandler<AppEnv> {
    return async (c, next) => {
      const name = await nameOf(c);
      const known = name === null ? undefined : this.#kept.get(`name ${name}`);
      if (known) {
        c.res = answer(c, known);
        return;
      }
      await next();
      if (c.res.status !== 200) return;
      const made = await this.#keep(c.res);
      if (name !== null) this.#kept.set(`name ${name}`, made);
      // Otherwise Hono adds the previous answer's headers to this one's.
      c.res = undefined;
      c.res = answer(c, made);
    };
  }

  async #keep(response: Response): Promise<StaticAnswer> {
    const bytes = new Uint8Array(await response.arrayBuffer());
    const headers = Object.fromEntries(response.headers);
    for (const own of ["x-request-id", "content-length"]) delete headers[own];
    const sum = createHash("sha256").update(JSON.stringify(headers)).update(bytes).digest("base64url").slice(0, 22);
    // A weak ETag, because it covers all encodings.
    Object.assign(headers, { etag: `W/"${sum}"`, vary: "Accept-Encoding" });
    headers["cache-control"] ??= "no-cache";
    const made = this.#kept.get(sum) ?? (await (this.#making.get(sum) ?? this.#make(sum, headers, bytes)));
    this.#kept.set(sum, made);
    return made;
  }

  /** Concurrent requests share one compression. */
  #make(sum: string, headers: Record<string, string>, identity: Bytes): Promise<StaticAnswer> {
    const making = compressed(headers, identity).finally(() => this.#making.delete(sum));
    this.#making.set(sum, making);
    return making;
  }
}

function sizeOf({ bodies }: StaticAnswer): number {
  return Object.values(bodies).reduce((sum, { length }) => sum + length, 1);
}

async function compressed(headers: Record<string, string>, identity: Bytes): Promise<StaticAnswer> {
  const worthIt = identity.length >= leastBytes && compressible.test(headers["content-type"] ?? "");
  if (!worthIt || headers["content-encoding"] !== undefined) return { headers, bodies: { identity } };
  const params = { [constants.BROTLI_PARAM_QUALITY]: quality, [constants.BROTLI_PARAM_SIZE_HINT]: identity.length };
  const [gz, br] = await Promise.all([
    promisify(gzip)(identity, { level: quality }),
    promisify(brotliCompress)(identity, { params }),
  ]);
  return { headers, bodies: { identity, gzip: new Uint8Array(gz), br: new Uint8Array(br) } };
}

function answer(c: Context<AppEnv>, { headers, bodies }: StaticAnswer): Response {
  const { etag = "", vary = "", "cache-control": cacheControl = "" } = headers;
  if (matchesEtag(c.req.header("if-none-match"), etag))
    return c.body(null, 304, { etag, vary, "cache-control": cacheControl });
  const accepted = c.req.header("accept-encoding") ?? "";
  const coding = (["br", "gzip"] as const).find((one) => bodies[one] && new RegExp(`\\b${one}\\b`).test(accepted));
  const body = coding ? bodies[coding] : undefined;
  return c.body(body ?? bodies.identity, 200, {
    ...headers,
    ...(coding ? { "content-encoding": coding } : {}),
    "content-length": String((body ?? bodies.identity).length),
  });
}
