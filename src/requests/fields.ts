/*
 * The members of what clients send, declared once: the value that a use case gets, the name in each API, whether it has to be there, and
 * what it means. GraphQL's input types (graphql/inputs.ts), the reader of /v0 and its OpenAPI schemas (rest/bodies.ts), the types of the
 * use cases and the names in their errors come from these declarations.
 */

/** The value of each kind, as a use case gets it. Addresses are as the client spelled them. */
interface Values {
  text: string;
  id: string;
  texts: readonly string[];
  /** A name of a chain as it was sent, aliases allowed. */
  chain: string;
  chains: readonly string[];
  /** A number of seconds and the like. */
  int: number;
  uint: bigint;
  /** As `uint`; /v0 takes it as a text too. */
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
  /** In English; members in backticks have the names of the use case, and each API shows its own. */
  doc: string;
  /** What /v0 says instead, where it means something else. */
  v0Doc?: string;
  /** Whether it has to be there: in both APIs, or in one of them. */
  required?: boolean | Api;
  /** Its name in GraphQL; absent: that of the use case. */
  graphql?: string;
  /** Its names in /v0, the documented one first; absent: that of the use case in snake case. */
  v0?: readonly [string, ...string[]];
  /** The API that alone has it. */
  only?: Api;
  /** What an absent member counts as; GraphQL says it of all but `uint`. */
  default?: boolean | number | string | readonly string[];
  /** Of a number in the schema of /v0; the use case checks it. */
  min?: number;
  max?: number;
  /** Of `word` and `words`: the words in lower case, with their meanings. GraphQL has them in upper case. Of a text: all that it may be. */
  words?: Readonly<Record<string, string>>;
  /** Of a list: how many there may be. */
  most?: number;
  /** An empty text is a value; otherwise /v0 takes it for absent. */
  emptyIsText?: boolean;
}

export interface Field<V = unknown, R extends boolean = boolean> extends Options {
  kind: Kind;
  /** The type of `required`, for `InputOf`; there is no such member. */
  readonly isRequired?: R;
  /** Of `items`: the members of each. */
  item?: Fields;
  /** The type of the value; there is no such member. */
  readonly value?: V;
}
export type Fields = Readonly<Record<string, Field>>;

type Required<F extends Fields> = {
  [N in keyof F]: [Exclude<F[N]["isRequired"], undefined>] extends [true] ? N : never;
}[keyof F];
type ValueOf<F> = F extends Field<infer V> ? V : never;

/** What a use case gets for members that are declared so. */
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

/** One of some words. */
export function word<W extends string, const O extends Options>(words: Readonly<Record<W, string>>, options: O) {
  return { kind: "word", words, ...options } as unknown as Made<W, O>;
}

/** A list of some words. */
export function words<W extends string, const O extends Options>(all: Readonly<Record<W, string>>, options: O) {
  return { kind: "words", words: all, ...options } as unknown as Made<readonly W[], O>;
}

/** A list of objects. @param most how many /v0 reads; it refuses longer ones. */
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

/** The client's own name of a request; a header of /v0. */
export const idempotencyKey = text({
  only: "graphql",
  doc: "Your own key for this request, 1 to 200 ASCII characters. Requests with one key are one request, for ever; without a key, equal requests within minutes are one.",
});

/** The royalty share of a contract. */
export function royalties<const O extends Pick<Options, "default">>(options: O) {
  return basisPoints({
    v0: ["royalties_share", "royalty_share"],
    doc: "The royalty share in basis points, 0 to 10000: 500 is 5 %.",
    ...options,
  });
}

export const royaltiesReceiver = address({
  v0: ["royalties_address", "royalty_address"],
  doc: "The address that gets royalties; the owner by default.",
});

/** The same member, which has to be there. */
export function needed<V>(field: Field<V>): Field<V, true> {
  return { ...field, required: true } as Field<V, true>;
}

/** The same members, none of which has to be there. */
export function optional<F extends Fields>(fields: F) {
  const all = Object.entries(fields).map(([name, field]) => [name, { ...field, required: false }] as const);
  return Object.fromEntries(all) as unknown as { [N in keyof F]: Field<ValueOf<F[N]>, false> };
}

/** Some of the members. */
export function pick<F extends Fields, N extends keyof F & string>(fields: F, ...names: readonly N[]): Pick<F, N> {
  return Object.fromEntries(names.map((name) => [name, fields[name]])) as unknown as Pick<F, N>;
}

/** Whether a member has to be there for an API's clients. */
export function isNeeded(api: Api, { required = false }: Field): boolean {
  return required === true || required === api;
}

/** What an API's clients call a member. */
export function nameIn(api: Api, name: string, field: Field | undefined): string {
  if (api === "graphql") return field?.graphql ?? name;
  if (name === "idempotencyKey") return "Idempotency-Key";
  return field?.v0?.[0] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** What a member means, in the names of an API. */
export function docIn(api: Api, fields: Fields, { doc, v0Doc }: Field): string {
  const said = api === "v0" ? (v0Doc ?? doc) : doc;
  return said.replaceAll(/`(\w+)`/g, (text, name) => (fields[name] ? `\`${nameIn(api, name, fields[name])}\`` : text));
}

/** The members that an API has. */
export function fieldsIn(api: Api, fields: Fields): [name: string, field: Field][] {
  return Object.entries(fields).filter(([, { only }]) => only === undefined || only === api);
}

/** Renames a member at fault, such as `tokens[2].tokenId`, to what an API's clients call it. */
export function renamerOf(api: Api, fields: Fields): (field: string) => string {
  return (path) => {
    const [, name = path, place = "", inner] = /^(\w+)(\[\d+\])?(?:\.(.*))?$/.exec(path) ?? [];
    const field = fields[name];
    const rest = inner === undefined ? "" : `.${renamerOf(api, field?.item ?? {})(inner)}`;
    return `${nameIn(api, name, field)}${place}${rest}`;
  };
}
