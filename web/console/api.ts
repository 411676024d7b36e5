/** How this browser is known to the server. */
export type Identity =
  | { kind: "key"; key: string }
  | { kind: "session"; csrfToken: string; wallet: string; accountId: string };

/** A refusal in the server's words. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly fix: string;
  /** What is wrong with which member. */
  readonly problems: { field: string; message: string }[];
  readonly retryAfterMs: number;

  constructor(status: number, body: ErrorBody, retryAfterMs: number) {
    super(body.error?.message ?? "the server refused");
    this.status = status;
    this.code = body.error?.code ?? "internal_error";
    this.fix = body.error?.fix ?? "";
    this.problems = (body.detail ?? []).map(({ loc, msg }) => ({ field: loc.join("."), message: msg }));
    this.retryAfterMs = retryAfterMs;
  }
}

interface ErrorBody {
  error?: { code: string; message: string; fix?: string } | null;
  detail?: { loc: string[]; msg: string }[];
}

let identity: Identity | null = null;

export function setIdentity(now: Identity | null): void {
  identity = now;
}

/** @throws ApiError for a refusal; TypeError when the server cannot be reached. */
export async function send<T>(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<T> {
  const isForm = body instanceof FormData;
  const response = await fetch(path, {
    method,
    headers: {
      ...(identity?.kind === "key" ? { Authorization: identity.key } : {}),
      ...(identity?.kind === "session" ? { "X-CSRF-Token": identity.csrfToken } : {}),
      ...(body === undefined || isForm ? {} : { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isForm ? body : JSON.stringify(body) }),
  });
  const answer = (await response.json()) as T & ErrorBody;
  if (response.ok) return answer;
  throw new ApiError(response.status, answer, 1000 * Number(response.headers.get("Retry-After") ?? 1));
}

export const get = <T>(path: string): Promise<T> => send<T>("GET", path);

interface GraphQLBody<T> {
  data?: T | null;
  errors?: { message: string; extensions?: { code?: string; fix?: string; status?: number } }[];
}

/** @throws ApiError for the first error of the answer; TypeError when the server cannot be reached. */
export async function graphql<T>(query: string, variables: Record<string, unknown> = {}): Promise<T> {
  const answer = await send<GraphQLBody<T>>("POST", "/graphql", { query, variables });
  const [first] = answer.errors ?? [];
  if (!first && answer.data) return answer.data;
  const { code = "internal_error", fix = "" } = first?.extensions ?? {};
  const error = { code, message: first?.message ?? "the server answered without data", fix };
  throw new ApiError(code === "not_found" ? 404 : code === "rate_limit_exceeded" ? 429 : 400, { error }, 1_000);
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

/** Goes on where the server says "later" or is away for a moment; whatever else it refuses is thrown. */
export async function sendPatiently<T>(
  run: () => Promise<T>,
  signal: AbortSignal,
  waiting: (why: string) => void,
): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await run();
    } catch (error) {
      const refused = error instanceof ApiError;
      const later = refused ? error.status === 429 || error.status === 503 : error instanceof TypeError;
      if (!later || signal.aborted || tries > 200) throw error;
      waiting(refused ? error.message : "The server does not answer; trying again.");
      await pause(refused ? Math.min(error.retryAfterMs, 60_000) : 2_000);
    }
  }
}
