import { type EventRow, eventData } from "../outbox/event-row.ts";
import { eventFamilies } from "../outbox/event-types.ts";
import { lifecycle } from "../transactions/lifecycle.ts";

/** Description of each family of events, by the beginning of its types' names. */
export const eventDescriptions: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(eventFamilies).map(([name, { description }]) => [name, description]),
);

/** Last parts of the names of an account's events: the states of a request. */
export const requestStates: readonly string[] = Object.keys(lifecycle);

/** An event with invented members: `data.test` is true, and its `id` is that of no real event. */
export interface SampleEvent {
  type: string;
  timestamp: string;
  data: Record<string, unknown> & { id: string; test: true };
}

const address = (digit: string) => `0x${digit.repeat(40)}`;
const hash = (digit: string) => `0x${digit.repeat(64)}`;
const bytes = (hex: string) => Buffer.from(hex.slice(2), "hex");
const place = { contract: address("c"), tokenId: "7", blockNumber: "50000000" };
const taken = "evt_sample_taken_back";

const movement: EventRow = {
  ...{ sequence: 0n, at: new Date(0), type: "nft.transfer", id: "", account_id: null, for_operator: false },
  ...{ chain_id: 137, finality: "latest", contract: bytes(place.contract), token_id: place.tokenId, amount: "1" },
  ...{ from_address: bytes(address("0")), to_address: bytes(address("a")), standard: "ERC721", kind: "MINT" },
  ...{ block_number: BigInt(place.blockNumber), block_hash: bytes(hash("b")), block_timestamp: 1_769_860_798n },
  ...{ tx_hash: bytes(hash("d")), log_index: 3, batch_index: 0, retracts: null, data: null },
};

/** The members of an event type, besides those that all have. */
const own: Readonly<Record<string, object>> = {
  "nft.transfer": eventData(movement, () => "polygon"),
  "nft.transfer.retracted": eventData({ ...movement, retracts: taken }, () => "polygon"),
  "chain.finalized": { from: "49999990", to: "50000000", hash: hash("b") },
  "metadata.updated": { ...place, errorCode: null },
  "metadata.failed": { ...place, errorCode: "http_404" },
  "webhook.test": { message: "This endpoint is reached." },
  "webhook.verification": { challenge: "c2FtcGxlLXNhbXBsZS1zYW1wbGUtc2FtcGxlLXNhbXBs" },
  "wallet.low_balance": { wallet: address("e"), state: "paused_funds" },
  "wallet.halted": { wallet: address("e"), state: "halted" },
  "index.stalled": {},
};

/** Types with samples. In a type of an account's request, any state can replace `confirmed`. */
export const sampleTypes: readonly string[] = Object.keys(eventFamilies).map((name) =>
  Object.hasOwn(own, name) ? name : `${name}.confirmed`,
);

/**
 * An event as receivers get it, for tests before a real one has happened.
 *
 * @param type one of `sampleTypes`, or with another state: `mint.held`.
 * @returns null for an unknown type.
 */
export function sampleEvent(type: string, id: string, at: Date): SampleEvent | null {
  const members = Object.hasOwn(own, type) ? own[type] : requestIn(type);
  if (!members) return null;
  const chain = type.startsWith("webhook.") ? {} : { sequence: "0", chain: "polygon", chainId: 137 };
  return { type, timestamp: at.toISOString(), data: { ...chain, ...members, id, test: true } };
}

function requestIn(type: string): object | null {
  const [family = "", state = "", ...more] = type.split(".");
  if (more.length > 0 || eventFamilies[family]?.audience !== "account" || !Object.hasOwn(lifecycle, state)) return null;
  const object = "00000000-0000-4000-8000-000000000000";
  return { object, state, version: 1, holdReason: state === "held" ? "funds" : null, contract: place.contract };
}
