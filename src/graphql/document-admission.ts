import type { IncomingMessage } from "node:http";
import type { GraphQLError } from "graphql";
import type { Plugin } from "graphql-yoga";
import type { Context } from "hono";
import { type DocumentBudget, documentOwner } from "../accounts/document-budget.ts";
import { recordCounted } from "../admission/throttle-failures.ts";
import { ServiceError } from "../errors/errors.ts";
import type { AppEnv } from "../http/app-env.ts";
import { clientAddress } from "../http/client-address.ts";
import { rawHeaderValues } from "../http/headers.ts";
import type { Services } from "../services.ts";

interface ServerContext {
  hono: Context<AppEnv>;
}

/** Whose time a request's document takes; absent: it is known, and takes none. */
const owners = new WeakMap<IncomingMessage, string>();

/** The schema is told anew each time, so it costs like a new document each time. */
const reflects = (text: string) => /__(schema|type)\b/.test(text);

/**
 * Lets a document that this process does not know be parsed, or not, before anything of it is looked at.
 *
 * @param isKnown whether a text was parsed and validated before, and what came of it is kept.
 * @param toError makes what a failure becomes in an answer.
 */
export function documentAdmission(
  services: Services,
  budget: DocumentBudget,
  isKnown: (text: string) => boolean,
  toError: (error: Error) => GraphQLError,
): Plugin<Record<string, never>, ServerContext> {
  /** @returns to be called when the work is done. */
  const measure = (context: unknown): (() => void) | undefined => {
    const owner = owners.get((context as ServerContext).hono.env.incoming);
    if (owner === undefined) return undefined;
    const before = process.threadCpuUsage();
    return () => {
      const { user, system } = process.threadCpuUsage(before);
      budget.charge(owner, (user + system) / 1000);
    };
  };
  return {
    async onParams({ params, setResult, context }) {
      const text = params.query;
      if (typeof text !== "string" || (isKnown(text) && !reflects(text))) return;
      const request = (context as unknown as ServerContext).hono.env.incoming;
      const address = clientAddress(request, services.config.trustedProxies);
      const owner = documentOwner(services, rawHeaderValues(request, "authorization"), address);
      try {
        await budget.admit(owner);
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error;
        setResult({ errors: [toError(error)] });
        return;
      }
      owners.set(request, owner);
      // By the time that it takes.
      recordCounted(request);
    },
    onParse: ({ context }) => measure(context),
    onValidate: ({ context }) => measure(context),
    onExecute({ args, executeFn, setExecuteFn }) {
      const done = measure(args.contextValue);
      if (!done) return;
      setExecuteFn((given: unknown) => {
        const answer = executeFn(given as never);
        // What an execution does at once; what it waits for is not this thread's time.
        done();
        return answer;
      });
    },
  };
}
