import type { paths } from "./generated/openapi.ts";
import { errorOfAnswer, type RequestOptions, type Send } from "./transport.ts";

export type Method = "get" | "post" | "put" | "patch" | "delete";

type Operation<M extends Method, P extends keyof paths> = paths[P][M];
type JsonOf<O> = O extends { responses: { 200: { content: { "application/json": infer Body } } } } ? Body : never;

/** The paths with this method, without the event stream, which `events` of the client reads. */
export type Path<M extends Method> = {
  [P in keyof paths]: [JsonOf<Operation<M, P>>] extends [never] ? never : P;
}[keyof paths];

/** The body of a successful answer, such as `Answer<"get", "/v0/nfts/{contract_address}">`. */
export type Answer<M extends Method, P extends Path<M>> = JsonOf<Operation<M, P>>;

type Of<O, Name extends string> = O extends { [N in Name]?: infer Value } ? Value : undefined;
type Parameters<O, Name extends string> = Of<Of<O, "parameters">, Name>;
type ContentOf<Body> = Body extends { content: infer Content } ? Content[keyof Content] : Body;

/** A part that the operation does not have is absent; a part without required members is optional. */
type Part<Name extends string, Value> = [Value] extends [undefined]
  ? unknown
  : undefined extends Value
    ? { [N in Name]?: Exclude<Value, undefined> }
    : Record<never, never> extends Value
      ? { [N in Name]?: Value }
      : { [N in Name]: Value };

/** An operation's input: path parameters, query, and body; a body with files is sent as a form. */
export type Input<M extends Method, P extends Path<M>> = Part<"path", Parameters<Operation<M, P>, "path">> &
  Part<"query", Parameters<Operation<M, P>, "query">> &
  Part<"body", ContentOf<Of<Operation<M, P>, "requestBody">>> &
  RequestOptions;

export type InputArguments<M extends Method, P extends Path<M>> =
  Record<never, never> extends Input<M, P> ? [input?: Input<M, P>] : [input: Input<M, P>];

/** A call of one method: `get("/v0/nfts", { query: { chain: "polygon" } })`. */
export type Call<M extends Method> = <P extends Path<M>>(
  path: P,
  ...input: InputArguments<M, P>
) => Promise<Answer<M, P>>;

/** The general form of `Input`, used while a request is composed. */
interface AnyInput extends RequestOptions {
  path?: Readonly<Record<string, string>>;
  query?: Readonly<Record<string, unknown>>;
  body?: Readonly<Record<string, unknown>>;
}

/** @returns the call of a method. It throws a `MintyardError` for a refusal or no answer, and the signal's reason. */
export function callOf<M extends Method>(send: Send, method: M): Call<M> {
  return async (path, ...[input = {}]) => {
    const { path: parts = {}, query = {}, body, ...options } = input as AnyInput;
    const answered = await send(method, addressOf(path, parts, query), body && bodyOf(body), options);
    if (answered.status !== 200) throw errorOfAnswer(answered);
    return answered.body as Answer<M, typeof path>;
  };
}

function addressOf(template: string, parts: NonNullable<AnyInput["path"]>, query: object): string {
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const part = parts[name];
    // An empty or dot segment would turn it into another path.
    if (!part || part === "." || part === "..") throw new TypeError(`${template} needs path.${name}`);
    return encodeURIComponent(part);
  });
  return path + searchOf(query);
}

/** A list becomes a repeated parameter; undefined and null are left out. @returns the query with its question mark. */
export function searchOf(query: object): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    for (const one of Array.isArray(value) ? value : [value])
      if (one !== undefined && one !== null) search.append(name, String(one));
  return search.size > 0 ? `?${search}` : "";
}

function bodyOf(body: Readonly<Record<string, unknown>>): unknown {
  const parts = Object.entries(body).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map((one: unknown) => [name, one] as const),
  );
  if (!parts.some(([, value]) => value instanceof Blob)) return body;
  const form = new FormData();
  for (const [name, value] of parts)
    if (value !== undefined) form.append(name, value instanceof Blob ? value : String(value));
  return form;
}
