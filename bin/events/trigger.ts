import { randomUUID } from "node:crypto";
import { sampleEvent, sampleTypes } from "../../src/events/sample-event.ts";
import { CommandError } from "../command-error.ts";
import { findService, type ServiceOptions } from "../service-address.ts";
import { ServiceClient } from "../service-client.ts";
import { describeForwarded, isDelivered } from "./describe-event.ts";
import { readReceiver } from "./filter-options.ts";
import { Forwarder } from "./forwarder.ts";
import { readListenSecret } from "./listen-secret.ts";

export interface TriggerOptions extends ServiceOptions {
  endpoint?: string | undefined;
  forwardTo?: string | undefined;
}

/**
 * Sends a made-up event of a type: from here to a local receiver, or from the service to an endpoint.
 *
 * @returns the exit code: 1 when the receiver did not accept it.
 */
export async function trigger(type: string, { endpoint, forwardTo, ...where }: TriggerOptions): Promise<number> {
  if ((endpoint === undefined) === (forwardTo === undefined))
    throw new CommandError("say where it goes: --forward-to a local receiver, or --endpoint of the service");
  const event = sampleEvent(type, `evt_${randomUUID().replaceAll("-", "")}`, new Date());
  if (!event) throw new CommandError(`there is no type ${type}; there are ${sampleTypes.join(", ")}`);
  if (forwardTo === undefined) {
    const client = new ServiceClient(findService(where), 3);
    const path = `/v1/webhooks/${encodeURIComponent(endpoint ?? "")}/test`;
    const { eventId } = await client.rest<{ eventId: string }>("POST", path, { type });
    process.stdout.write(where.json ? `${JSON.stringify({ eventId })}\n` : `${eventId} is on its way\n`);
    return 0;
  }
  const forwarder = new Forwarder(readReceiver(forwardTo), await readListenSecret(process.env));
  const forwarded = await forwarder.send({ id: event.data.id, type, body: JSON.stringify(event) });
  const text = where.json
    ? JSON.stringify({ eventId: event.data.id, ...forwarded })
    : `${event.data.id}  ${describeForwarded(forwarded)}`;
  process.stdout.write(`${text}\n`);
  return isDelivered(forwarded) ? 0 : 1;
}
