import { ServiceError, wrongType } from "../errors/errors.ts";
import { JsonNumber } from "./json-body.ts";

type Problem = { rank: number; error: ServiceError };
type Need = { required?: boolean };
/** `emptyIsText`: an empty text is a value; otherwise it counts as absent. */
type TextNeed = Need & { emptyIsText?: boolean };

/** The original service's order of reports: missing members before wrong types, and so on. */
const ranks = {
  parameter_missing: 0,
  invalid_type: 1,
  invalid_enumeration: 2,
  chain_not_supported: 2,
  invalid_address: 2,
  invalid_date: 2,
  value_error: 3,
};
type ProblemCode = keyof typeof ranks;
/** Faults kept per code: a list may have as many faults as items. */
const mostOfOneCode = 100;

/**
 * Reads a request's members as leniently as clients of the original service need: null and `""` count as absent for
 * optional members, digits in a string are a number, and unknown members are ignored unless the caller asks for them.
 *
 * Faults are collected; `check()` throws the first in the order of `ranks`, with all of them in `details.problems`.
 * Until then a faulty member reads as undefined.
 */
export class Input {
  readonly #get: (name: string) => unknown;
  readonly #sent: readonly string[];
  readonly #valuesOf: (name: string) => string[];
  readonly #asked = new Set<string>();
  readonly #problems: Problem[] = [];
  readonly #counts = new Map<ProblemCode, number>();

  private constructor(
    get: (name: string) => unknown,
    sent: Iterable<string>,
    valuesOf: (name: string) => string[] = () => [],
  ) {
    this.#get = get;
    this.#sent = [...new Set(sent)];
    this.#valuesOf = valuesOf;
  }

  static fromBody(body: Record<string, unknown>): Input {
    return new Input((name) => (Object.hasOwn(body, name) ? body[name] : undefined), Object.keys(body));
  }

  static fromQuery(query: URLSearchParams): Input {
    const valuesOf = (name: string) => query.getAll(name);
    return new Input((name) => valuesOf(name).find((value) => value !== ""), query.keys(), valuesOf);
  }

  /** Members that were sent but not yet read under any spelling; misspelt ones are among them. */
  unknown(): string[] {
    return this.#sent.filter((name) => !this.#asked.has(name));
  }

  /** The values of a query parameter that may repeat; `a,b` in one value is split too. */
  words(name: string): string[] {
    return this.#valuesOf(name)
      .flatMap((value) => value.split(","))
      .map((word) => word.trim())
      .filter(Boolean);
  }

  has(name: string): boolean {
    return this.#first(name)[1] !== undefined;
  }

  isEmptyList(name: string): boolean {
    const [, value] = this.#first(name);
    return Array.isArray(value) && value.length === 0;
  }

  /** A text member under the first of `names` that was sent. An empty text counts as absent. */
  text(names: string | readonly string[], need: TextNeed = {}): string | undefined {
    const [name, value] = this.#first(names);
    const text = value instanceof JsonNumber ? value.source : value;
    if (text === undefined || (text === "" && !need.emptyIsText)) return this.#absent(name, need);
    return typeof text === "string" ? text : this.wrongType(name, "a string");
  }

  /** An integer of any size. */
  integer(names: string | readonly string[], need: Need = {}): bigint | undefined {
    const [name, value] = this.#first(names);
    if (value === undefined || value === "") return this.#absent(name, need);
    const text = value instanceof JsonNumber ? value.source : value;
    if (typeof text !== "string") return this.wrongType(name, "a whole number");
    const match = /^\s*([+-]?\d{1,78})(?:\.0+)?\s*$/.exec(text);
    return match?.[1] === undefined ? this.wrongType(name, "a whole number") : BigInt(match[1]);
  }

  /** A decimal number in native tokens, converted to wei (times 10^18) from its text. */
  wei(name: string, need: Need = {}): bigint | undefined {
    const [, value] = this.#first(name);
    if (value === undefined || value === "") return this.#absent(name, need);
    const text = value instanceof JsonNumber ? value.source : value;
    if (typeof text !== "string") return this.wrongType(name, "a number");
    const wei = decimalToWei(text.trim());
    if (wei === null) return this.wrongType(name, "a number");
    return wei === "too fine" ? this.fail("value_error", name, `${name} must be at most 18 decimals`) : wei;
  }

  boolean(name: string): boolean | undefined {
    const [, value] = this.#first(name);
    const text = value instanceof JsonNumber ? value.source : value;
    if (text === undefined || text === "") return undefined;
    if (text === true || text === "true" || text === "True" || text === "1") return true;
    if (text === false || text === "false" || text === "False" || text === "0") return false;
    return this.wrongType(name, "true or false");
  }

  /** An address in any letter case, returned as it was sent. */
  address(names: string | readonly string[], need: Need = {}): string | undefined {
    const [name] = this.#first(names);
    const text = this.text(names, need);
    if (text === undefined) return undefined;
    return isAddressText(text) ? text : this.fail("invalid_address", name, invalidAddress(name));
  }

  /** A list of texts; numbers count as their digits. */
  texts(name: string, allowed?: readonly string[]): string[] | undefined {
    const [, value] = this.#first(name);
    if (value === undefined) return undefined;
    const texts: unknown[] = Array.isArray(value)
      ? value.map((item) => (item instanceof JsonNumber ? item.source : item))
      : [null];
    if (!texts.every((item) => typeof item === "string")) return this.wrongType(name, "an array of strings");
    const bad = allowed ? texts.findIndex((item) => !allowed.includes(item)) : -1;
    const at = `${name}[${bad}]`;
    return bad < 0 ? texts : this.fail("invalid_enumeration", at, `${at} must be one of: ${allowed?.join(", ")}`);
  }

  addresses(name: string): string[] | undefined {
    const [, value] = this.#first(name);
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) return this.wrongType(name, "an array of addresses");
    const bad = value.findIndex((item) => typeof item !== "string" || !isAddressText(item));
    const at = `${name}[${bad}]`;
    return bad < 0 ? value : this.fail("invalid_address", at, invalidAddress(at));
  }

  /** ISO 8601; without an offset it is UTC, as clients of the original service expect. */
  date(names: string | readonly string[], need: Need = {}): Date | undefined {
    const [name] = this.#first(names);
    const text = this.text(names, need);
    if (text === undefined) return undefined;
    const wanted = "an ISO 8601 date, 2022-07-12T11:30:48+00:00";
    return parseIsoDate(text) ?? this.fail("invalid_date", name, `${name} must be ${wanted}`);
  }

  /** The objects of a list, each as an input of its own; their faults belong to this input, with their index. */
  items<T>(name: string, most: number, read: (item: Input) => T): T[] {
    const [, value] = this.#first(name);
    if (value === undefined) {
      this.#absent(name, { required: true });
      return [];
    }
    if (!Array.isArray(value)) {
      this.wrongType(name, "an array of objects");
      return [];
    }
    if (value.length === 0 || value.length > most)
      this.fail("value_error", name, `${name} must hold 1 to ${most} items`);
    return value.slice(0, most).flatMap((item: unknown, index) => {
      const at = `${name}[${index}]`;
      if (item === null || typeof item !== "object" || Array.isArray(item) || item instanceof JsonNumber) {
        this.wrongType(at, "an object");
        return [];
      }
      const input = Input.fromBody(item as Record<string, unknown>);
      const given = read(input);
      for (const { code, field = "", message, fix } of input.faults()) {
        const place = `${at}.${field}`;
        this.fail(code as ProblemCode, place, message.replace(field, place), fix?.replace(field, place));
      }
      return [given];
    });
  }

  /** The faults so far, the gravest first. */
  faults(): ServiceError[] {
    return this.#problems.toSorted((a, b) => a.rank - b.rank).map(({ error }) => error);
  }

  /** Throws the collected faults. Call it before using the values. */
  check(): void {
    const faults = this.faults();
    const [first] = faults;
    if (!first) return;
    const { code, message, field, fix } = first;
    const problems = faults.map((fault) => ({ field: fault.field, code: fault.code, message: fault.message }));
    throw new ServiceError(code, message, { field, fix, details: { problems } });
  }

  fail(code: ProblemCode, field: string, message: string, fix?: string): undefined {
    const before = this.#counts.get(code) ?? 0;
    this.#counts.set(code, before + 1);
    if (before < mostOfOneCode)
      this.#problems.push({ rank: ranks[code], error: new ServiceError(code, message, { field, fix }) });
    return undefined;
  }

  /** Records a wrong type: `wanted` is like "a string". */
  wrongType(name: string, wanted: string): undefined {
    const { message, fix } = wrongType(name, wanted);
    return this.fail("invalid_type", name, message, fix);
  }

  #first(names: string | readonly string[]): [name: string, value: unknown] {
    const all = typeof names === "string" ? [names] : names;
    for (const name of all) this.#asked.add(name);
    for (const name of all) {
      const value = this.#get(name);
      if (value !== undefined && value !== null) return [name, value];
    }
    return [all[0] ?? "", undefined];
  }

  #absent(name: string, need: Need): undefined {
    return need.required ? this.fail("parameter_missing", name, `${name} is missing`) : undefined;
  }
}

/** The original service's text, which clients show. */
export function invalidAddress(member: string): string {
  return `Invalid address: ${member}.`;
}

export function isAddressText(text: string): boolean {
  return /^0x[0-9a-fA-F]{40}$/.test(text);
}

/** "0.01" or "1e-2" as wei; null: not a number; "too fine": more than 18 decimals. */
export function decimalToWei(text: string): bigint | null | "too fine" {
  const match = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,3}))?$/.exec(text);
  if (!match) return null;
  const [, sign, whole = "", fraction = "", exponent = "0"] = match;
  if (whole === "" && fraction === "") return null;
  const digits = whole + fraction;
  const decimals = fraction.length - Number(exponent);
  const shift = 18 - decimals;
  if (digits.length > 100 || shift > 200) return null;
  if (shift < 0) {
    if (!/^0*$/.test(digits.slice(shift))) return "too fine";
    return signed(sign, BigInt(digits.slice(0, shift) || "0"));
  }
  return signed(sign, BigInt(digits) * 10n ** BigInt(shift));
}

function signed(sign: string | undefined, value: bigint): bigint {
  return sign === "-" ? -value : value;
}

const isoDate = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(\.\d{1,9})?)?)?(Z|z|[+-]\d{2}:?\d{2})?$/;

/** The instant of an ISO 8601 text; null for any other text, a 31st of February included. */
export function parseIsoDate(text: string): Date | null {
  const match = isoDate.exec(text.trim());
  if (!match) return null;
  const [, year, month, day, hour = "00", minute = "00", second = "00", fraction = "", offset = "Z"] = match;
  const zone = /^[Zz]$/.test(offset) ? "Z" : offset.replace(/^([+-]\d{2}):?(\d{2})$/, "$1:$2");
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}${fraction.slice(0, 4)}${zone}`);
  if (Number.isNaN(date.getTime())) return null;
  // JavaScript rolls 31 February over to March; the parts must come back as written.
  const plain = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return plain.getUTCDate() === Number(day) && plain.getUTCMonth() === Number(month) - 1 ? date : null;
}
