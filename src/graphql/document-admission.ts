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

/** The owner who pays for parsing a request's document; absent for a known document, which costs nothing. */
const owners = new WeakMap<IncomingMessage, string>();

/** An introspection result is built anew each time, so it always costs like a new document. */
const reflects = (text: string) => /__(schema|type)\b/.test(text);

/**
 * Admits or refuses a document that this process does not know, before it is parsed.
 *
 * @param isKnown whether the text was parsed and validated before and the result is still cached.
 * @param toError turns a failure into an error of the answer.
 */
export function documentAdmission(
  services: Services,
  budget: DocumentBudget,
  isKnown: (text: string) => boolean,
  toError: (error: Error) => GraphQLError,
): Plugin<Record<string, never>, ServerContext> {
  /** Starts measuring. @returns a function to call when the work is done. */
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
      // The processor time pays for this request, so nothing else has to count it.
      recordCounted(request);
    },
    onParse: ({ context }) => measure(context),
    onValidate: ({ context }) => measure(context),
    onExecute({ args, executeFn, setExecuteFn }) {
      const done = measure(args.contextValue);
      if (!done) return;
      setExecuteFn((given: unknown) => {
        const answer = executeFn(given as never);
        // Measures the synchronous part of the execution only: time spent awaiting is not this thread's.
        done();
        return answer;
      });
    },
  };
}
