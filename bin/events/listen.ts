import { CommandError } from "../command-error.ts";
import { findService, type ServiceOptions } from "../service-address.ts";
import { describeEvent, describeForwarded } from "./describe-event.ts";
import { type FilterOptions, queryOf, readReceiver } from "./filter-options.ts";
import { type Followed, followEvents } from "./follow-events.ts";
import { Forwarder, type Message } from "./forwarder.ts";
import { readListenSecret } from "./listen-secret.ts";

export interface ListenOptions extends ServiceOptions, FilterOptions {
  forwardTo?: string | undefined;
  after?: string | undefined;
  count?: number | undefined;
  printSecret?: true | undefined;
}

/**
 * Prints events as they come, and sends each to a local receiver as a webhook would be sent: in order, each after the
 * answer to the one before. Ends on an interrupt, or after `count` events.
 *
 * @returns the exit code.
 */
export async function listen({ forwardTo, after, count, printSecret, ...options }: ListenOptions): Promise<number> {
  const secret = await readListenSecret(process.env);
  if (printSecret) {
    process.stdout.write(`${secret}\n`);
    return 0;
  }
  if (after !== undefined && !/^\d{1,18}$/.test(after))
    throw new CommandError("--after is the sequence of an event, such as 4711");
  const service = findService(options);
  const forwarder = forwardTo === undefined ? null : new Forwarder(readReceiver(forwardTo), secret);
  const say = (text: string) => process.stderr.write(`${text}\n`);
  if (forwarder) say(`Sending to ${forwarder.url}, signed with ${secret}`);
  const stop = new AbortController();
  const end = () => stop.abort();
  process.once("SIGINT", end).once("SIGTERM", end);
  const quiet = forwarder ? watchKeys(forwarder, say, end) : () => undefined;
  let left = count ?? Number.POSITIVE_INFINITY;
  let opened = false;
  try {
    for await (const item of followEvents(service, queryOf(options), after ?? null, stop.signal)) {
      if (item.kind === "open") {
        say(opened ? "Connected again." : `Listening to ${service.url}. End with Ctrl-C.`);
        opened = true;
      } else if (item.kind === "lost") say(`${item.reason}; again in ${(item.waitMs / 1_000).toFixed(1)} s`);
      else {
        await take(item, forwarder, options.json ?? false, say);
        left -= 1;
        if (left <= 0) break;
      }
    }
  } finally {
    quiet();
    process.removeListener("SIGINT", end).removeListener("SIGTERM", end);
  }
  return 0;
}

async function take(
  { body, type, sequence }: Followed & { kind: "event" },
  forwarder: Forwarder | null,
  json: boolean,
  say: (text: string) => void,
): Promise<void> {
  process.stdout.write(`${json ? body : describeEvent(body)}\n`);
  if (type === "events.expired") {
    say(`Events before ${sequence} are not kept any more: read the state by the other APIs.`);
    return;
  }
  const { data } = JSON.parse(body) as { data: { id: string } };
  const message: Message = { id: data.id, type, body };
  if (forwarder) say(`    ${describeForwarded(await forwarder.send(message))}`);
}

/** In a terminal, `r` sends the last event once more. @returns a function that ends this. */
function watchKeys(forwarder: Forwarder, say: (text: string) => void, end: () => void): () => void {
  const { stdin } = process;
  if (!stdin.isTTY) return () => undefined;
  const press = (key: string) => {
    if (key === "\u0003" || key === "q") end();
    if (key !== "r") return;
    void forwarder.again().then((sent) => {
      say(sent ? `Again ${sent.message.id}  ${describeForwarded(sent.forwarded)}` : "There is no event yet.");
    });
  };
  stdin.setRawMode(true);
  stdin.setEncoding("utf8").on("data", press).resume();
  say("Press r to send the last event again, q to end.");
  return () => {
    stdin.setRawMode(false);
    stdin.removeListener("data", press).pause();
  };
}
