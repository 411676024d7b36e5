import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Span, SpanKind, Tracer } from "@opentelemetry/api";

/** How a process records spans; there is none while traces are off. */
interface Recorder {
  tracer: Tracer;
  /** A span below another one, or a root. */
  start(name: string, kind: SpanKind, attributes: Attributes, parent: Span | null): Span;
  /** Marks a span as failed. Only the kind of the error is recorded: its text may hold anything. */
  fail(span: Span, error: unknown): void;
}

let recorder: Recorder | null = null;
const active = new AsyncLocalStorage<Span | null>();

/** Values of `SpanKind`, which is an object at run time: the package is loaded only where traces are on. */
const spanKinds = { internal: 0, server: 1, client: 2 } as const;

export function setRecorder(made: Recorder | null): void {
  recorder = made;
}

/** Whether somebody records what happens here. */
export function isRecording(): boolean {
  return recorder !== null && active.getStore() != null;
}

/** What is running below a span of its own, so that its requests can be distinguished. Costs nothing while traces are off. */
export function withSpan<T>(name: string, attributes: Attributes, run: () => Promise<T>, root = false): Promise<T> {
  const parent = active.getStore() ?? null;
  // What no request or job asked for (polling) is not worth a trace.
  if (!recorder || (!parent && !root)) return run();
  const { start, fail } = recorder;
  const span = start(name, spanKinds.internal, attributes, parent);
  return active.run(span, async () => {
    try {
      return await run();
    } catch (error) {
      fail(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

/** Runs what outlives the request that asked for it: nothing in it is recorded. */
export function withoutSpan<T>(run: () => T): T {
  return recorder ? active.run(null, run) : run();
}

/** Begins a question to another server. @returns how to end it; null while nothing is recorded. */
export function startClientSpan(name: string, attributes: Attributes): ((error?: unknown) => void) | null {
  const parent = active.getStore() ?? null;
  if (!recorder || !parent) return null;
  const { start, fail } = recorder;
  const span = start(name, spanKinds.client, attributes, parent);
  return (error) => {
    if (error !== undefined) fail(span, error);
    span.end();
  };
}

/** Begins a root for everything that runs from here on in this asynchronous context. */
export function enterRequestSpan(name: string): Span | null {
  if (!recorder) return null;
  const span = recorder.start(name, spanKinds.server, {}, null);
  active.enterWith(span);
  return span;
}
