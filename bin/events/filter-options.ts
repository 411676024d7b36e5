import { CommandError } from "../command-error.ts";

/** A filter of events, as the options of `events listen` and `events endpoints`: comma-separated values. */
export interface FilterOptions {
  types?: string | undefined;
  chains?: string | undefined;
  contracts?: string | undefined;
  accounts?: string | undefined;
  tokenIds?: string | undefined;
  finality?: string | undefined;
}

const lists = { types: "types", chains: "chain", contracts: "contract", accounts: "account", tokenIds: "tokenId" };

/** As `GET /v1/events` takes it. */
export function queryOf(options: FilterOptions): URLSearchParams {
  const query = new URLSearchParams();
  for (const [member, name] of Object.entries(lists))
    for (const value of split(options[member as keyof FilterOptions])) query.append(name, value);
  if (options.finality) query.set("finality", options.finality);
  return query;
}

/** As `/v1/webhooks` takes it. Only the options given: an empty text makes a list empty. */
export function bodyOf(options: FilterOptions): Record<string, unknown> {
  const given = Object.keys(lists).filter((member) => options[member as keyof FilterOptions] !== undefined);
  return {
    ...Object.fromEntries(given.map((member) => [member, split(options[member as keyof FilterOptions])])),
    ...(options.finality === undefined ? {} : { finality: options.finality }),
  };
}

function split(text: string | undefined): string[] {
  return (text ?? "")
    .split(",")
    .map((value) => value.trim())
    .filter(Boolean);
}

/** The address of a receiver. @throws CommandError. */
export function readReceiver(text: string): string {
  const parsed = URL.parse(text);
  if (parsed && /^https?:$/.test(parsed.protocol)) return parsed.href;
  throw new CommandError(`--forward-to is the address of a receiver, such as http://localhost:4000/hook`);
}
