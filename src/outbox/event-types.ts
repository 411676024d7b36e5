/** Who may receive an event: everybody, the account that it belongs to, or the operator's own endpoints. */
type Audience = "everybody" | "account" | "operator";

interface EventFamily {
  audience: Audience;
  description: string;
}

/**
 * All types of events, by the beginning of their names: a filter that names a beginning (up to a dot) gets all types
 * below it. A new type is one entry here; its events are written by a trigger or a call of `service.record_event`
 * (schema/migrations/0320_events.sql).
 */
export const eventFamilies: Readonly<Record<string, EventFamily>> = {
  "nft.transfer": { audience: "everybody", description: "A token was minted, transferred or burned." },
  "nft.transfer.retracted": {
    audience: "everybody",
    description: "A transfer that was sent before is no longer on the chain; `retracts` is the id of its event.",
  },
  "chain.finalized": { audience: "everybody", description: "All transfers in these blocks are final." },
  "metadata.updated": { audience: "everybody", description: "The metadata of a token was read and has changed." },
  "metadata.failed": { audience: "everybody", description: "The metadata of a token could not be read." },
  deployment: { audience: "account", description: "A deployment changed its state, as in `deployment.confirmed`." },
  update: { audience: "account", description: "An update of a collection changed its state." },
  contract: { audience: "account", description: "A deployment of a product contract changed its state." },
  contract_update: { audience: "account", description: "A change of a product contract changed its state." },
  mint: { audience: "account", description: "A mint request changed its state." },
  token_update: { audience: "account", description: "A change of a token's URI changed its state." },
  burn: { audience: "account", description: "A burn changed its state." },
  transfer: { audience: "account", description: "A requested transfer changed its state." },
  "webhook.test": { audience: "account", description: "Sent to one endpoint when its owner requests it." },
  "webhook.verification": {
    audience: "account",
    description:
      "Sent to an endpoint that is new or has a new URL. To receive messages, the endpoint answers with `challenge`.",
  },
  "wallet.low_balance": {
    audience: "operator",
    description: "The balance of a relayer's wallet is too low to continue.",
  },
  "wallet.halted": { audience: "operator", description: "A relayer's wallet was stopped; see the runbooks." },
  "index.stalled": {
    audience: "operator",
    description: "The index of a chain stopped making progress and was restarted.",
  },
};

/** Beginnings of the names of the operator's events. */
export const operatorFamilies: readonly string[] = ["wallet", "index"];

/** Whether a filter may name it: a known type, the beginning of known ones, or a state below an account's type. */
export function isEventType(name: string): boolean {
  if (!/^[a-z_]+(?:\.[a-z_]+){0,3}$/.test(name)) return false;
  return Object.entries(eventFamilies).some(
    ([family, { audience }]) =>
      isBelow(family, name) || (audience === "account" && isBelow(name, family) && name.split(".").length === 2),
  );
}

/** Whether a type is another or below it: `nft.transfer.retracted` is below `nft.transfer`, `nft.transfers` is not. */
export function isBelow(type: string, beginning: string): boolean {
  return type === beginning || type.startsWith(`${beginning}.`);
}
