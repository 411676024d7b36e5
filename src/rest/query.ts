import type { Context } from "hono";
import { type Chain, findChain } from "../chains.ts";
import { ServiceError } from "../errors/errors.ts";
import type { PageRequest } from "../nfts/page.ts";
import { Input, invalidAddress, isAddressText } from "./input.ts";

const defaultPageSize = 50;
/** Include words that only some endpoints or later versions of the original service know; accepted everywhere. */
const laterWords = ["rarity", "last_sale_price", "file_information", "contract_information", "all"];

/** The query of a request; `+` and `%20` both mean a space. */
export function queryOf(c: Context): URLSearchParams {
  return new URL(c.req.url).searchParams;
}

export function queryInput(c: Context): Input {
  return Input.fromQuery(queryOf(c));
}

/** `chain`, required, in the request's spelling: answers echo it. */
export function chainParameter(input: Input, chains: readonly Chain[]): string {
  const name = input.text("chain", { required: true });
  if (name === undefined) return "";
  try {
    findChain(chains, name);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code !== "invalid_enumeration" && error.code !== "chain_not_supported") throw error;
    input.fail(error.code, "chain", error.message);
  }
  return name;
}

/** `page_number`, `page_size` and `continuation`, which takes precedence over the number. */
export function pageParameters(input: Input, largest: bigint = 50n): PageRequest {
  const number = input.integer("page_number") ?? 1n;
  const size = input.integer("page_size") ?? BigInt(defaultPageSize);
  if (number < 1n) input.fail("value_error", "page_number", "page_number must be 1 or more");
  if (size < 1n || size > largest) {
    input.fail("value_error", "page_size", `page_size must be 1 to ${largest}`);
  }
  return {
    // Past the end of any list; only the order of magnitude matters.
    number: Number(number < 1_000_000_000n ? number : 1_000_000_000n),
    size: Number(size),
    after: input.text("continuation"),
  };
}

/** The words of a repeated parameter. Those of `alsoAccepted` are dropped. */
export function wordsParameter<W extends string>(
  input: Input,
  name: string,
  allowed: readonly W[],
  alsoAccepted: readonly string[] = [],
): Set<W> {
  const words = input.words(name);
  const isAllowed = (word: string): word is W => (allowed as readonly string[]).includes(word);
  const wrong = words.find((word) => !isAllowed(word) && !alsoAccepted.includes(word));
  if (wrong !== undefined) input.fail("invalid_enumeration", name, `${name} must be one of: ${allowed.join(", ")}`);
  return new Set(words.filter(isAllowed));
}

/** One word of a fixed list; undefined if it was not sent. */
export function wordParameter<W extends string>(
  input: Input,
  name: string,
  allowed: readonly W[],
  required = false,
): W | undefined {
  const word = input.text(name, { required });
  if (word === undefined) return undefined;
  const found = allowed.find((candidate) => candidate === word);
  return found ?? input.fail("invalid_enumeration", name, `${name} must be one of: ${allowed.join(", ")}`);
}

/** `include`: selects the parts of the records. `default` is always included. */
export function includeParameter<W extends string>(input: Input, allowed: readonly W[]): Set<W | "default"> {
  return wordsParameter(input, "include", ["default", ...allowed] as const, laterWords);
}

/** An address in the path, in any letter case. */
export function addressParameter(input: Input, name: string, text: string): string {
  if (!isAddressText(text)) input.fail("invalid_address", name, invalidAddress(name));
  return text;
}

/** A token id in the path: a decimal uint256. */
export function tokenIdParameter(input: Input, text: string): bigint {
  if (/^\d{1,78}$/.test(text) && BigInt(text) < 2n ** 256n) return BigInt(text);
  input.fail("value_error", "token_id", "token_id must be a decimal number from 0 to 2^256 - 1");
  return 0n;
}
