import type { ExecutionResult, GraphQLError } from "graphql";
import { type Plugin, processRegularResult } from "graphql-yoga";
import type { Context } from "hono";
import { requireScope } from "../accounts/admit.ts";
import { authenticate } from "../accounts/authenticate.ts";
import { readFreshness } from "../accounts/freshness.ts";
import { operationOfField } from "../accounts/operations.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import type { EventStreams } from "../http/event-streams.ts";
import { rawHeaderValues } from "../http/headers.ts";
import type { Services } from "../services.ts";

type ToError = (error: Error) => GraphQLError;

/**
 * Takes over a subscription's events from yoga, which would read the stream outside the request: without its tenant,
 * and up to the subscription's own end even if the client has left.
 *
 * @param toError turns a failure into an error of the answer.
 */
export function takeEvents(
  toError: ToError,
): Plugin<Record<string, never>, { stream: { events: AsyncIterable<ExecutionResult> | null } }> {
  return {
    onResultProcess({ result, resultProcessor, setResult, setResultProcessor, serverContext }) {
      if (!(Symbol.asyncIterator in result)) return giveStatus(result as ExecutionResult);
      if (resultProcessor) {
        serverContext.stream.events = result as AsyncIterable<ExecutionResult>;
        setResultProcessor(() => new Response(null), "text/event-stream");
        return;
      }
      // The client accepts no format for events: nobody will read them.
      void result[Symbol.asyncIterator]().return?.();
      const refusal = toError(
        new ServiceError("value_error", "a subscription is answered as a stream: send Accept: text/event-stream", {
          fix: "Send the header Accept: text/event-stream, and read server-sent events.",
        }),
      );
      refusal.extensions["http"] = { status: 406 };
      setResult({ errors: [refusal] });
      setResultProcessor(processRegularResult, "application/json");
    },
  };
}

/** A subscription that did not start has no `data`: without a status it would be answered as a server error. */
function giveStatus(result: ExecutionResult): void {
  if ("data" in result) return;
  for (const { originalError, extensions } of result.errors ?? [])
    if (originalError instanceof ServiceError) extensions["http"] ??= { status: originalError.status };
}

interface Answer {
  services: Services;
  streams: EventStreams;
  events: AsyncIterable<ExecutionResult>;
  /** Applied to every answer before it is serialized. */
  finish(event: ExecutionResult): void;
  toError: ToError;
}

/** Streams a subscription's events on Node's own response. @returns a response that tells Hono to send nothing. */
export function answerSubscription(c: Context<AppEnv>, answer: Answer): Response {
  const { services, streams, events, finish, toError } = answer;
  const requestId = c.get("requestId");
  return streams.answer(c.env, requestId, c.get("rateHeaders"), {
    events: events[Symbol.asyncIterator](),
    textOf: async (value) => {
      const event = value as ExecutionResult;
      finish(event);
      const freshness = await readFreshness(services);
      const { stringify = JSON.stringify } = event as { stringify?: typeof JSON.stringify };
      return stringify({
        ...(event.errors ? { errors: event.errors.map(withoutHttp) } : {}),
        ...("data" in event ? { data: event.data } : {}),
        extensions: { ...event.extensions, freshness },
      });
    },
    eventOf: (error) => ({ errors: [toError(error)] }),
    check: async () => {
      if (c.get("needsKey") === false) return;
      const session = await authenticate(services, rawHeaderValues(c.env.incoming, "authorization"), requestId);
      requireScope(session, operationOfField("subscription", ""));
    },
  });
}

/** Status and headers are for yoga; an event has neither. */
function withoutHttp(error: GraphQLError): object {
  const { extensions, ...shown } = error.toJSON();
  const { http: _, ...more } = extensions ?? {};
  return { ...shown, extensions: more };
}
