import { type Document, queryText, type VariableArguments } from "./documents.ts";
import { MintyardError } from "./error.ts";
import { idempotencyKey, type RepeatOptions, repeatWhileUnavailable } from "./repeat.ts";
import { type Answer, type Call, callOf, type Input, type Path } from "./rest.ts";
import {
  type EventsInput,
  type GraphQLResult,
  type StreamedEvent,
  type StreamOptions,
  streamEvents,
  streamResults,
} from "./streams.ts";
import {
  type ClientOptions,
  createSend,
  createTransport,
  type Open,
  type RequestOptions,
  retryAfterOf,
  type Send,
} from "./transport.ts";

export { type ErrorCode, MintyardError, type Problem } from "./error.ts";
export { idempotencyKey, type RepeatOptions, repeatWhileUnavailable } from "./repeat.ts";
export type { Answer, Input, Method, Path } from "./rest.ts";
export type { EventsInput, EventsQuery, StreamedEvent, StreamOptions } from "./streams.ts";
export type { ClientOptions, RequestOptions } from "./transport.ts";

type Transacting = "post" | "put" | "delete";

/** The operations whose answer has a transaction's hash. */
export type TransactionPath<M extends Transacting> = {
  [P in Path<M>]: Answer<M, P> extends { transaction_hash?: string } ? P : never;
}[Path<M>];

/** Calls to one server with one key. Each throws a `MintyardError` if it is refused or not answered. */
export interface MintyardClient {
  get: Call<"get">;
  post: Call<"post">;
  put: Call<"put">;
  patch: Call<"patch">;
  delete: Call<"delete">;
  /**
   * Runs a query or a mutation.
   *
   * @returns its data. Errors that the caller of a mutation can correct are in its `userErrors` and not thrown.
   */
  graphql: <Result, Variables>(
    document: Document<Result, Variables>,
    ...more: VariableArguments<Variables, RequestOptions>
  ) => Promise<Result>;
  /**
   * Runs a subscription and yields its results until it completes.
   *
   * @throws MintyardError in the loop: for errors in a result, and `no_answer` when the connection is lost.
   */
  subscribe: <Result, Variables>(
    document: Document<Result, Variables>,
    ...more: VariableArguments<Variables, RequestOptions>
  ) => AsyncGenerator<Result, void>;
  /**
   * The events of `GET /v1/events`, until the caller leaves the loop or `signal` ends it. A lost connection is reopened
   * after the last event. Store an event's `cursor` to continue after it in another program.
   */
  events: (input?: EventsInput, options?: StreamOptions) => AsyncGenerator<StreamedEvent, void>;
  /**
   * Sends a request for a transaction until it is signed. It is repeated under the same key when the answer is lost, or
   * when the request is accepted but not signed yet (503), so nothing is done twice.
   *
   * @param input `idempotencyKey` is generated if absent. Store your own if the program may be restarted meanwhile.
   */
  transact: <M extends Transacting, P extends TransactionPath<M>>(
    method: M,
    path: P,
    input: Input<M, P>,
    options?: RepeatOptions,
  ) => Promise<Answer<M, P> & { transaction_hash: string }>;
  /**
   * Waits for the contract that a transaction creates or changes.
   *
   * @throws MintyardError `transaction_failed` when it failed for good; `transaction_pending` after `timeoutMs`.
   */
  waitUntilDeployed: (chain: string, hash: string, options?: RepeatOptions) => Promise<Answer<"get", Deployed>>;
  /** Waits for the tokens of a mint, in the same way. */
  waitUntilMinted: (chain: string, hash: string, options?: RepeatOptions) => Promise<Answer<"get", Minted>>;
  /** Stores one file on IPFS. @param name with the extension for its type; a `File`'s own name by default. */
  uploadFile: (file: Blob, name?: string, options?: RepeatOptions) => Promise<Answer<"post", "/v0/files">>;
  /** Stores a collection's metadata as one folder. @param documents by token id; each is stored as `<id>.json`. */
  uploadMetadata: (
    documents: Readonly<Record<string, object>>,
    options?: RepeatOptions,
  ) => Promise<Answer<"post", "/v0/metadata/directory">>;
}

type Deployed = "/v0/contracts/{transaction_hash}";
type Minted = "/v0/mints/batch/{transaction_hash}";

export function createClient(options: ClientOptions): MintyardClient {
  const open = createTransport(options);
  const send = createSend(open);
  const [get, post] = [callOf(send, "get"), callOf(send, "post")];
  const isPending = ({ code }: MintyardError) => code === "transaction_pending";
  const path = (hash: string, chain: string) => ({ path: { transaction_hash: hash }, query: { chain } });
  return {
    ...{ get, post },
    put: callOf(send, "put"),
    patch: callOf(send, "patch"),
    delete: callOf(send, "delete"),
    graphql: async (document, ...[variables, more]) => await runDocument(send, document, variables, more),
    subscribe: (document, ...[variables, more]) => subscribeTo(open, document, variables, more),
    events: (input, more) => streamEvents(open, input, more),
    transact: async (method, operation, input, repeat) => {
      const { idempotencyKey: given, signal = repeat?.signal } = input as RequestOptions;
      // Without a key, a lost answer would lead to a second transaction. An empty key counts as none.
      const asked = { ...input, signal, idempotencyKey: given || idempotencyKey() };
      const call = callOf(send, method) as (path: string, input: unknown) => Promise<never>;
      return await repeatWhileUnavailable(() => call(operation, asked), repeat);
    },
    waitUntilDeployed: async (chain, hash, repeat) =>
      await repeatWhileUnavailable(() => get("/v0/contracts/{transaction_hash}", path(hash, chain)), repeat, isPending),
    waitUntilMinted: async (chain, hash, repeat) =>
      await repeatWhileUnavailable(
        () => get("/v0/mints/batch/{transaction_hash}", path(hash, chain)),
        repeat,
        isPending,
      ),
    uploadFile: async (file, name, repeat) => {
      const body = { file: name === undefined ? file : new File([file], name, { type: file.type }) };
      return await repeatWhileUnavailable(() => post("/v0/files", { body }), repeat);
    },
    uploadMetadata: async (documents, repeat) => {
      const files = Object.entries(documents).map(
        ([id, document]) => new File([JSON.stringify(document)], `${id}.json`),
      );
      const body = { metadata_files: files };
      return await repeatWhileUnavailable(() => post("/v0/metadata/directory", { body }), repeat);
    },
  };
}

async function runDocument<Result, Variables>(
  send: Send,
  document: Document<Result, Variables>,
  variables: unknown,
  options?: RequestOptions,
): Promise<Result> {
  const query = queryText(document);
  const { status, headers, body } = await send("post", "/graphql", { query, variables: variables ?? {} }, options);
  return dataOf<Result>((body ?? {}) as GraphQLResult, status, headers);
}

async function* subscribeTo<Result, Variables>(
  open: Open,
  document: Document<Result, Variables>,
  variables: unknown,
  options?: RequestOptions,
): AsyncGenerator<Result, void> {
  const body = { query: queryText(document), variables: variables ?? {} };
  for await (const result of streamResults(open, body, options)) yield dataOf<Result>(result, 200, new Headers());
}

/** @throws MintyardError for the first error of a result. */
function dataOf<Result>({ data, errors = [] }: GraphQLResult, status: number, headers: Headers): Result {
  const [first] = errors;
  if (!first && data) return data as Result;
  throw new MintyardError(first?.message ?? "the server answered without data", {
    ...{ status, code: first?.extensions?.code ?? "internal_error", fix: first?.extensions?.fix, data },
    requestId: first?.extensions?.requestId ?? headers.get("X-Request-Id") ?? undefined,
    retryAfterMs: retryAfterOf(headers),
  });
}
