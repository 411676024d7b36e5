import type { Address, Hex } from "viem";

/** What an attacker was answered. */
export interface Reply {
  status: number;
  text: string;
  cookies: readonly string[];
}

/** Who sends an attack: an address, and a key if it has one. */
export interface Asker {
  readonly key: string | null;
  readonly address: string;
  send(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Reply>;
  graphql(query: string, variables?: Record<string, unknown>): Promise<Reply>;
  /** Reads of a stream what comes within a moment, and goes. */
  watch(method: string, path: string, body?: unknown): Promise<Reply>;
}

/** What attacks are aimed at. Everything named hostile was made for them. */
export interface Target {
  /** Of the attacking free account. */
  collection: Address;
  /** Wallets of its presale list. */
  listed: readonly Address[];
  deployment: string;
  deploymentHash: Hex;
  erc721: Address;
  erc1155: Address;
  mintRequest: string;
  mintHash: Hex;
  update: string;
  key: string;
  webhook: string;
  wallet: Address;
  /** A contract of thousands of tokens in the index, and who holds them all. */
  large: Address;
  holder: Address;
  /** Whose `tokenURI` loops, returns a megabyte, or names the server below. */
  talker: Address;
  /** Receivers: fill their storage, burn all gas, return 100 KB, revert with as much. */
  burner: Address;
  looping: Address;
  returning: Address;
  reverting: Address;
  /** A server that is slow, redirects for ever and sends without end. */
  hostileUrl: string;
  /** Stored content: a directory of thousands of files, and a file. */
  directory: string;
  file: string;
  /** A picture of some megabytes. */
  picture: string;
}

/** What the worker does after a request, which is counted to it. */
export type Aftermath = "relay" | "metadata" | "webhooks";

export interface Attack {
  /** The worst input that was found for it, in a few words. */
  worst: string;
  run(target: Target, asker: Asker, index: number): Promise<Reply>;
  after?: Aftermath;
  /** Counts as a transaction of the plan: it succeeds. */
  transaction?: true;
  /** Of what counts it, one request takes so many; the default is one. */
  places?: number;
  /** Requests that are measured; the default is three, of what answers without a statement more. */
  times?: number;
}

/** Uploads of few bytes, measured together: the database grows by pages, each of which is several of them. */
export const fewBytes = { times: 120 };

/** One operation's: how it is attacked, or why it cannot cost anything. */
export type Entry = Attack | readonly Attack[] | { cannotCost: string };

export const isAttacked = (entry: Entry): entry is Attack | readonly Attack[] => !("cannotCost" in entry);

/** Operations that no entry names, and entries whose operation has gone. */
export function compareEntries(operations: readonly string[], entries: Readonly<Record<string, Entry>>) {
  const named = new Set(Object.keys(entries));
  return {
    unattacked: operations.filter((operation) => !named.has(operation)),
    gone: [...named].filter((operation) => !operations.includes(operation)),
  };
}

/** A GET with the worst path. */
export function get(
  worst: string,
  path: (target: Target, index: number) => string,
  more: Pick<Attack, "places"> = {},
): Attack {
  return { worst, ...more, run: async (target, asker, index) => await asker.send("GET", path(target, index)) };
}

/** A request with a JSON body. */
export function sent(
  method: string,
  path: string | ((target: Target, index: number) => string),
  worst: string,
  body: (target: Target, index: number) => unknown,
  more: Pick<Attack, "after" | "transaction" | "times" | "places"> = {},
): Attack {
  return {
    worst,
    ...more,
    run: async (target, asker, index) =>
      await asker.send(method, typeof path === "string" ? path : path(target, index), body(target, index)),
  };
}

/** A GraphQL operation; each document differs, so that none is known. */
export function asked(
  worst: string,
  document: (target: Target, index: number) => string | [query: string, variables: Record<string, unknown>],
  more: Pick<Attack, "after" | "transaction" | "times" | "places"> = {},
): Attack {
  return {
    worst,
    ...more,
    run: async (target, asker, index) => {
      const made = document(target, index);
      const [query, variables] = typeof made === "string" ? [made, {}] : made;
      return await asker.graphql(`${query} # ${asker.key ?? "nobody"} ${index}`, variables);
    },
  };
}

/** As many aliases as a document may have. */
export function aliased(count: number, field: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => `a${at}: ${field(at)}`).join(" ");
}

let made = 0;

/** Addresses that nobody has: cheap to make, since what an attacker does is no part of what an attack costs. */
export function freshAddresses(count: number): Address[] {
  return Array.from({ length: count }, () => {
    made += 1;
    return `0xfe${made.toString(16).padStart(38, "0")}` as Address;
  });
}
