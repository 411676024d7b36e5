/*
 * The members of client input, declared once: value type, name in each API, whether it is required, and meaning. From
 * these declarations derive GraphQL's input types (graphql/inputs.ts), the parser of /v0 and its OpenAPI schemas
 * (rest/bodies.ts), the types of the use cases and the names in their errors.
 */

/** The value type of each kind in a use case. Addresses are as the client spelled them. */
interface Values {
  text: string;
  id: string;
  texts: readonly string[];
  /** The name of a chain as it was sent; aliases are allowed. */
  chain: string;
  chains: readonly string[];
  /** A number of seconds or the like. */
  int: number;
  uint: bigint;
  /** As `uint`; /v0 also accepts it as a string. */
  tokenId: bigint;
  /** Decimal. */
  tokenIds: readonly string[];
  quantity: bigint;
  /** Hundredths of a percent, 0 to 10,000. */
  basisPoints: bigint;
  /** In /v0 a decimal number of the chain's native token. */
  wei: bigint;
  address: string;
  addresses: readonly string[];
  date: Date;
  flag: boolean;
}
export type Kind = keyof Values | "word" | "words" | "items";
export type Api = "graphql" | "v0";

interface Options {
  /** In English; members in backticks have their names in the use case, and each API shows its own. */
  doc: string;
  /** The text for /v0, where the member means something else. */
  v0Doc?: string;
  /** Whether it is required: in both APIs, or in one of them. */
  required?: boolean | Api;
  /** Its name in GraphQL; absent: its name in the use case. */
  graphql?: string;
  /** Its names in /v0, the documented one first; absent: its name in the use case in snake case. */
  v0?: readonly [string, ...string[]];
  /** The only API that has it. */
  only?: Api;
  /** The value of an absent member; GraphQL documents it for all kinds but `uint`. */
  default?: boolean | number | string | readonly string[];
  /** Bounds of a number in the schema of /v0; the use case enforces them. */
  min?: number;
  max?: number;
  /** For `word(s)`: the lower-case words and their meanings (GraphQL: upper case). For a text: all allowed values. */
  words?: Readonly<Record<string, string>>;
  /** The maximum length of a list. */
  most?: number;
  /** An empty text is a value; otherwise /v0 treats it as absent. */
  emptyIsText?: boolean;
}

export interface Field<V = unknown, R extends boolean = boolean> extends Options {
  kind: Kind;
  /** Type-level only, from `required`, for `InputOf`; no such member exists. */
  readonly isRequired?: R;
  /** For `items`: the members of each item. */
  item?: Fields;
  /** Type-level only: the type of the value; no such member exists. */
  readonly value?: V;
}
export type Fields = Readonly<Record<string, Field>>;

type Required<F extends Fields> = {
  [N in keyof F]: [Exclude<F[N]["isRequired"], undefined>] extends [true] ? N : never;
}[keyof F];
type ValueOf<F> = F extends Field<infer V> ? V : never;

/** The input that a use case gets for members declared in this way. */
export type InputOf<F extends Fields> = { [N in Required<F>]: ValueOf<F[N]> } & {
  [N in Exclude<keyof F, Required<F>>]?: ValueOf<F[N]> | undefined;
};

type Made<V, O extends Options> = Field<V, O["required"] extends true ? true : false>;

function fieldOf<K extends keyof Values>(kind: K) {
  return <const O extends Options>(options: O): Made<Values[K], O> => ({ kind, ...options }) as Made<Values[K], O>;
}

export const text = fieldOf("text");
export const id = fieldOf("id");
export const texts = fieldOf("texts");
export const chains = fieldOf("chains");
export const int = fieldOf("int");
export const uint = fieldOf("uint");
export const tokenId = fieldOf("tokenId");
export const tokenIds = fieldOf("tokenIds");
export const quantity = fieldOf("quantity");
const basisPoints = fieldOf("basisPoints");
export const wei = fieldOf("wei");
export const address = fieldOf("address");
export const addresses = fieldOf("addresses");
export const date = fieldOf("date");
export const flag = fieldOf("flag");

/** One of a set of words. */
export function word<W extends string, const O extends Options>(words: Readonly<Record<W, string>>, options: O) {
  return { kind: "word", words, ...options } as unknown as Made<W, O>;
}

/** A list of words from a set. */
export function words<W extends string, const O extends Options>(all: Readonly<Record<W, string>>, options: O) {
  return { kind: "words", words: all, ...options } as unknown as Made<readonly W[], O>;
}

/** A list of objects. @param most how many /v0 reads; it refuses longer lists. */
export function items<F extends Fields, const O extends Options>(item: F, most: number, options: O) {
  return { kind: "items", item, most, ...options } as unknown as Made<readonly InputOf<F>[], O>;
}

/** The chain of a request. */
export const chain = fieldOf("chain")({
  required: true,
  doc: "The name of a chain of this installation, such as polygon.",
  v0Doc: "Name of the chain: `ethereum`, `polygon`, `goerli` (also `rinkeby`), or another chain of this installation.",
});

/** The contract of a request. */
export const contract = address({
  required: true,
  v0: ["contract_address"],
  doc: "The address of the contract, in any letter case.",
});

/** The client's idempotency key of a request; a header in /v0. */
export const idempotencyKey = text({
  only: "graphql",
  doc: "An idempotency key of your choice, 1 to 200 ASCII characters. Requests with the same key are one request, at any time. Without a key, identical requests within ten minutes are one request.",
});

/** The royalty share of a contract. */
export function royalties<const O extends Pick<Options, "default">>(options: O) {
  return basisPoints({
    v0: ["royalties_share", "royalty_share"],
    doc: "The royalty in basis points, 0 to 10000: 500 is 5 %.",
    ...options,
  });
}

export const royaltiesReceiver = address({
  v0: ["royalties_address", "royalty_address"],
  doc: "The address that receives royalties; the owner by default.",
});

/** The same member, required. */
export function needed<V>(field: Field<V>): Field<V, true> {
  return { ...field, required: true } as Field<V, true>;
}

/** The same members, all optional. */
export function optional<F extends Fields>(fields: F) {
  const all = Object.entries(fields).map(([name, field]) => [name, { ...field, required: false }] as const);
  return Object.fromEntries(all) as unknown as { [N in keyof F]: Field<ValueOf<F[N]>, false> };
}

/** Some of the members. */
export function pick<F extends Fields, N extends keyof F & string>(fields: F, ...names: readonly N[]): Pick<F, N> {
  return Object.fromEntries(names.map((name) => [name, fields[name]])) as unknown as Pick<F, N>;
}

/** Whether a member is required for an API's clients. */
export function isNeeded(api: Api, { required = false }: Field): boolean {
  return required === true || required === api;
}

/** A member's name in an API. */
export function nameIn(api: Api, name: string, field: Field | undefined): string {
  if (api === "graphql") return field?.graphql ?? name;
  if (name === "idempotencyKey") return "Idempotency-Key";
  return field?.v0?.[0] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A member's documentation, in the names of an API. */
export function docIn(api: Api, fields: Fields, { doc, v0Doc }: Field): string {
  const said = api === "v0" ? (v0Doc ?? doc) : doc;
  return said.replaceAll(/`(\w+)`/g, (text, name) => (fields[name] ? `\`${nameIn(api, name, fields[name])}\`` : text));
}

/** The members that an API has. */
export function fieldsIn(api: Api, fields: Fields): [name: string, field: Field][] {
  return Object.entries(fields).filter(([, { only }]) => only === undefined || only === api);
}

/** Renames an invalid member, such as `tokens[2].tokenId`, to its name in an API. */
export function renamerOf(api: Api, fields: Fields): (field: string) => string {
  return (path) => {
    const [, name = path, place = "", inner] = /^(\w+)(\[\d+\])?(?:\.(.*))?$/.exec(path) ?? [];
    const field = fields[name];
    const rest = inner === undefined ? "" : `.${renamerOf(api, field?.item ?? {})(inner)}`;
    return `${nameIn(api, name, field)}${place}${rest}`;
  };
}
