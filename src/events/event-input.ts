import { findChain } from "../chains.ts";
import { ServiceError, wrongType } from "../errors/errors.ts";
import { isAllowedUrl } from "../outbound/address-guard.ts";
import { type EventFilter, filterBounds } from "../outbox/event-filter.ts";
import { type Finality, finalities } from "../outbox/event-row.ts";
import { eventFamilies, isBelow, isEventType, operatorFamilies } from "../outbox/event-types.ts";
import { addresses, chains, type InputOf, needed, text, texts, tokenIds } from "../requests/fields.ts";
import type { Services } from "../services.ts";
import { allowsPrivate, type WebhookOwner, type WebhookServices } from "./webhook-record.ts";

/** When a transfer is published. */
const finalityWords: Readonly<Record<Finality, string>> = {
  latest: "at once, and retracted if a reorganisation removes it; the default of a new endpoint or stream",
  safe: "once its block is safe",
  finalized: "once its block is finalized; it is never retracted",
};

/** A list of the filter. @param doc what it lets through. */
function listOf<N extends keyof typeof filterBounds>(name: N, doc: string) {
  const most = filterBounds[name];
  return { most, v0: [name], doc: `${doc}. Up to ${most}; an empty list matches all.` } as const;
}

const familyNames = Object.keys(eventFamilies).join(", ");

/** Which events are sent. */
export const filterFields = {
  types: texts(listOf("types", `Event types, or prefixes (nft.transfer includes its retractions): ${familyNames}`)),
  chains: chains(listOf("chains", "Only events of these chains")),
  contracts: addresses(listOf("contracts", "Only events of these contracts")),
  accounts: addresses(listOf("accounts", "Only transfers from or to these accounts")),
  tokenIds: tokenIds(listOf("tokenIds", "Only events of tokens with these ids, whole numbers")),
  finality: text({
    words: finalityWords,
    doc: `When a transfer is sent: ${Object.entries(finalityWords)
      .map(([word, meaning]) => `${word} (${meaning})`)
      .join(", ")}.`,
  }),
};
export type EventFilterInput = InputOf<typeof filterFields>;

/** Members of a webhook endpoint that can be changed, besides the filter. */
export const webhookFields = {
  url: text({
    doc: "The http or https URL that receives the messages, up to 2,000 characters. It must have a public host and port 80 or 443 unless the operator allows others.",
  }),
  description: text({ emptyIsText: true, doc: "A note for yourself, up to 500 characters." }),
};
export const newWebhookFields = { ...webhookFields, url: needed(webhookFields.url) };
export type WebhookInput = EventFilterInput & InputOf<typeof webhookFields>;

const maxTokenId = 2n ** 256n - 1n;

/**
 * Checks a filter and removes duplicates from its lists.
 *
 * @throws ServiceError `invalid_enumeration`, `chain_not_supported`, `invalid_address`, `invalid_type`, `value_error`
 *   for a list that is too long; `field` is the member's name.
 */
export function readFilter(services: Pick<Services, "chains">, input: EventFilterInput): EventFilter {
  const types = list(input.types, "types");
  for (const name of types)
    if (!isEventType(name))
      throw new ServiceError(
        "invalid_enumeration",
        `"${name.slice(0, 80)}" is no type of events; there are ${familyNames}`,
        { field: "types" },
      );
  const chains = list(input.chains, "chains").map((name) => findChain(services.chains, name).id);
  const tokenIds = list(input.tokenIds, "tokenIds").map((text) => {
    if (!/^\d{1,78}$/.test(text) || BigInt(text) > maxTokenId)
      throw wrongType("tokenIds", "whole numbers below 2^256, as text");
    return String(BigInt(text));
  });
  return {
    types,
    chains,
    contracts: addressBytes(input.contracts, "contracts"),
    accounts: addressBytes(input.accounts, "accounts"),
    tokenIds: [...new Set(tokenIds)],
    finality: readFinality(input.finality),
  };
}

function readFinality(value: string | undefined): Finality {
  const text = (value ?? "latest").toLowerCase();
  const found = finalities.find((name) => name === text);
  if (found) return found;
  throw new ServiceError("invalid_enumeration", `finality must be one of: ${finalities.join(", ")}`, {
    field: "finality",
  });
}

/**
 * Parses a position in the order of events: the `sequence` of the last event that a client has.
 *
 * @throws ServiceError `value_error`.
 */
export function readPlace(text: string): bigint {
  if (/^\d{1,18}$/.test(text)) return BigInt(text);
  throw new ServiceError("value_error", "a place in the events is the sequence of one, such as 4711", {
    field: "after",
  });
}

function addressBytes(values: readonly string[] | undefined, field: "contracts" | "accounts"): Buffer[] {
  const texts = list(values, field).map((text, index) => {
    const at = `${field}[${index}]`;
    if (!/^0x[0-9a-fA-F]{40}$/.test(text))
      throw new ServiceError("invalid_address", `Invalid address: ${at}.`, { field: at });
    return text.toLowerCase();
  });
  return [...new Set(texts)].map((text) => Buffer.from(text.slice(2), "hex"));
}

function list(values: readonly string[] | undefined, field: keyof typeof filterBounds): string[] {
  const given = [...new Set(values ?? [])];
  if (given.length > filterBounds[field])
    throw new ServiceError("value_error", `${field} may have ${filterBounds[field]} members at most`, { field });
  return given;
}

/** A filter as columns of the table. */
export function columnsOf({ tokenIds, ...filter }: EventFilter) {
  return { ...filter, token_ids: tokenIds };
}

/** The operator's endpoints get only the operator's events; an account's may name any type and get what it may see. */
export function readFilterFor(services: WebhookServices, owner: WebhookOwner, input: WebhookInput): EventFilter {
  if (owner.accountId !== null) {
    const wanted = readFilter(services, input);
    if (owner.plan?.wholeChainWebhooks === false && wanted.contracts.length === 0 && tellsOfChains(wanted))
      throw new ServiceError(
        "plan_limit_exceeded",
        "your plan sends events of the contracts that an endpoint names: give contracts, or only types of your own such as deployment and mint",
        { field: "contracts" },
      );
    return wanted;
  }
  const filter = readFilter(services, { ...input, types: input.types?.length ? input.types : operatorFamilies });
  for (const name of filter.types)
    if (!operatorFamilies.some((family) => isBelow(name, family)))
      throw new ServiceError("invalid_enumeration", `types must be of ${operatorFamilies.join(" or ")}`, {
        field: "types",
      });
  return filter;
}

/** Whether a filter matches events that everybody gets. */
function tellsOfChains({ types }: EventFilter): boolean {
  const ofChains = Object.keys(eventFamilies).filter((name) => eventFamilies[name]?.audience === "everybody");
  return (
    types.length === 0 || types.some((type) => ofChains.some((name) => isBelow(name, type) || isBelow(type, name)))
  );
}

/** @throws ServiceError `parameter_missing`, `value_error`. */
export function readUrl({ config }: WebhookServices, owner: WebhookOwner, text: string | undefined): string {
  if (!text) throw new ServiceError("parameter_missing", "url is missing", { field: "url" });
  const url = text.length <= 2_000 && URL.canParse(text) ? new URL(text) : null;
  const allowPrivate = allowsPrivate(config, owner.accountId);
  if (!url || !isAllowedUrl(url, { allowPrivate }))
    throw new ServiceError(
      "value_error",
      `url must be http or https,${allowPrivate ? "" : " at a public host, at port 80 or 443,"} without a user, and of 2,000 characters at most`,
      { field: "url" },
    );
  return url.href;
}

/** @returns undefined if there is none. @throws ServiceError `value_error`. */
export function readDescription(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (text.length > 500 || text.includes("\0"))
    throw new ServiceError("value_error", "description may have 500 characters", { field: "description" });
  return text;
}
