import { CommandError } from "../command-error.ts";
import { findService, type ServiceOptions } from "../service-address.ts";
import { ServiceClient } from "../service-client.ts";
import { bodyOf, type FilterOptions } from "./filter-options.ts";

/** An endpoint as `/v1/webhooks` shows it. */
interface Endpoint extends Record<string, unknown> {
  id: string;
  url: string;
  state: string;
  disabledReason: string | null;
  waiting: string | null;
  verificationTry: { status: number | null; fault: string | null } | null;
  types: string[];
  chains: string[];
  finality: string;
}

interface Delivery {
  id: string;
  eventId: string;
  type: string;
  state: string;
  attempts: number;
  nextAt: string | null;
  tries: { status: number | null; fault: string | null; milliseconds: number; answer: string | null }[];
}

export interface EndpointOptions extends ServiceOptions, FilterOptions {
  description?: string | undefined;
}

const clientOf = (where: ServiceOptions) => new ServiceClient(findService(where), 3);
const pathOf = (id: string, action = "") => `/v1/webhooks/${encodeURIComponent(id)}${action && `/${action}`}`;
const print = (text: string) => process.stdout.write(`${text}\n`);

export async function listEndpoints(where: ServiceOptions): Promise<number> {
  const { webhooks } = await clientOf(where).rest<{ webhooks: Endpoint[] }>("GET", "/v1/webhooks");
  for (const endpoint of webhooks) print(where.json ? JSON.stringify(endpoint) : describe(endpoint));
  if (webhooks.length === 0)
    process.stderr.write("there is no endpoint; events endpoints create <receiver> makes one\n");
  return 0;
}

export async function createEndpoint(receiver: string, options: EndpointOptions): Promise<number> {
  const made = await clientOf(options).rest<{ webhook: Endpoint; secret: string }>("POST", "/v1/webhooks", {
    url: receiver,
    ...changesOf(options),
  });
  printWithSecret(made, options);
  return 0;
}

export async function changeEndpoint(
  id: string,
  { receiver, ...options }: EndpointOptions & { receiver?: string | undefined },
): Promise<number> {
  const changes = { ...(receiver === undefined ? {} : { url: receiver }), ...changesOf(options) };
  if (Object.keys(changes).length === 0) throw new CommandError("nothing to change was given");
  const { webhook } = await clientOf(options).rest<{ webhook: Endpoint }>("PATCH", pathOf(id), changes);
  printOne(webhook, options);
  return 0;
}

/** Performs the action on an endpoint, if it is not `show`, and then shows the endpoint. */
export async function actOnEndpoint(
  action: "show" | "pause" | "resume" | "verify" | "delete",
  id: string,
  where: ServiceOptions,
): Promise<number> {
  const [method, path] = {
    show: ["GET", pathOf(id)] as const,
    pause: ["POST", pathOf(id, "pause")] as const,
    resume: ["POST", pathOf(id, "resume")] as const,
    verify: ["POST", pathOf(id, "verify")] as const,
    delete: ["DELETE", pathOf(id)] as const,
  }[action];
  const { webhook } = await clientOf(where).rest<{ webhook: Endpoint }>(method, path);
  if (action === "delete" && !where.json) print(`${webhook.id} is deleted, with what waited for it`);
  else printOne(webhook, where);
  return 0;
}

export async function rotateSecret(
  id: string,
  { overlap, ...where }: ServiceOptions & { overlap?: number | undefined },
): Promise<number> {
  const body = overlap === undefined ? {} : { overlapSeconds: overlap };
  const made = await clientOf(where).rest<{ webhook: Endpoint; secret: string }>("POST", pathOf(id, "rotate"), body);
  printWithSecret(made, where);
  return 0;
}

export async function listDeliveries(
  id: string,
  { state, before, ...where }: ServiceOptions & { state?: string | undefined; before?: string | undefined },
): Promise<number> {
  const query = new URLSearchParams({ ...(state ? { state } : {}), ...(before ? { before } : {}) });
  const path = `${pathOf(id, "deliveries")}?${query}`;
  const { deliveries } = await clientOf(where).rest<{ deliveries: Delivery[] }>("GET", path);
  for (const delivery of deliveries) print(where.json ? JSON.stringify(delivery) : describeDelivery(delivery));
  return 0;
}

export interface ReplayOptions extends ServiceOptions {
  endpoint?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  fromBlock?: number | undefined;
  toBlock?: number | undefined;
  failed?: true | undefined;
}

/** Makes the service send events again, with their original ids. */
export async function replayEvents(eventId: string | undefined, options: ReplayOptions): Promise<number> {
  const { endpoint, since, until, fromBlock, toBlock, failed, ...where } = options;
  const wanted = { eventId, since, until, fromBlock, toBlock, failed };
  const body = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined));
  if (Object.keys(body).length === 0)
    throw new CommandError(
      "say what is sent again: the id of an event, --since, --from-block and --to-block, or --failed",
    );
  const client = clientOf(where);
  const id = endpoint ?? (await onlyEndpoint(client));
  const { replayed } = await client.rest<{ replayed: number }>("POST", pathOf(id, "replay"), body);
  if (where.json) print(JSON.stringify({ endpoint: id, replayed }));
  else if (replayed > 0) print(`${replayed} on the way to ${id}`);
  else print(`nothing is sent: ${id} has no such event in its filter, or it waits already, or it is not kept any more`);
  return replayed > 0 ? 0 : 1;
}

async function onlyEndpoint(client: ServiceClient): Promise<string> {
  const { webhooks } = await client.rest<{ webhooks: Endpoint[] }>("GET", "/v1/webhooks");
  const [first, ...others] = webhooks;
  if (first && others.length === 0) return first.id;
  const known = webhooks.map(({ id, url }) => `\n  ${id}  ${url}`).join("");
  throw new CommandError(first ? `say which endpoint with --endpoint:${known}` : "there is no endpoint");
}

function changesOf({ description, ...filter }: EndpointOptions): Record<string, unknown> {
  return { ...bodyOf(filter), ...(description === undefined ? {} : { description }) };
}

function printOne(endpoint: Endpoint, { json }: ServiceOptions): void {
  print(JSON.stringify(endpoint, null, json ? 0 : 2));
}

function printWithSecret({ webhook, secret }: { webhook: Endpoint; secret: string }, { json }: ServiceOptions): void {
  if (json) return void print(JSON.stringify({ webhook, secret }));
  print(describe(webhook));
  print(`secret  ${secret}`);
  process.stderr.write(
    "The secret is shown this once. The receiver verifies the signature with it (docs/events.md).\n",
  );
  if (webhook.state === "unverified")
    process.stderr.write("It is sent a challenge, and nothing else until the receiver has answered it.\n");
}

function describe(endpoint: Endpoint): string {
  const { id, state, url, types, chains, finality } = endpoint;
  const why = whyOf(endpoint);
  return [id, `${state}${why}`, url, types.join(",") || "all types", chains.join(",") || "all chains", finality].join(
    "  ",
  );
}

/** Why nothing is sent to the endpoint. */
function whyOf({ state, disabledReason, waiting, verificationTry: last }: Endpoint): string {
  if (disabledReason) return ` (${disabledReason})`;
  if (state === "unverified") return last ? ` (answered ${last.status ?? "nothing"}: ${last.fault})` : "";
  return waiting ? ` (waits: ${waiting})` : "";
}

function describeDelivery({ id, eventId, type, state, attempts, nextAt, tries }: Delivery): string {
  const last = tries.at(-1);
  const answer = last ? (last.fault ?? `${last.status} in ${last.milliseconds} ms`) : "not tried yet";
  const next = nextAt && state === "pending" ? [`next try ${nextAt}`] : [];
  return [id, state, type, eventId, attempts === 1 ? "1 try" : `${attempts} tries`, answer, ...next].join("  ");
}
