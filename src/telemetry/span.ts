import { AsyncLocalStorage } from "node:async_hooks";
import type { Attributes, Span, SpanKind, Tracer } from "@opentelemetry/api";

/** Records a process's spans; there is none while traces are off. */
interface Recorder {
  tracer: Tracer;
  /** A child span, or a root. */
  start(name: string, kind: SpanKind, attributes: Attributes, parent: Span | null): Span;
  /** Marks a span as failed. Only the error's kind is recorded: its text may contain anything. */
  fail(span: Span, error: unknown): void;
}

let recorder: Recorder | null = null;
const active = new AsyncLocalStorage<Span | null>();

/** Values of `SpanKind`, which is a run-time object: the package is loaded only when traces are on. */
const spanKinds = { internal: 0, server: 1, client: 2 } as const;

export function setRecorder(made: Recorder | null): void {
  recorder = made;
}

/** Whether the current context is being traced. */
export function isRecording(): boolean {
  return recorder !== null && active.getStore() != null;
}

/** Runs `run` in a span of its own, the parent of its calls to other servers. Costs nothing while traces are off. */
export function withSpan<T>(name: string, attributes: Attributes, run: () => Promise<T>, root = false): Promise<T> {
  const parent = active.getStore() ?? null;
  // Polling, which no request or job caused, is not worth a trace.
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

/** Runs work that outlives the request that started it: nothing in it is traced. */
export function withoutSpan<T>(run: () => T): T {
  return recorder ? active.run(null, run) : run();
}

/** Starts the span of a call to another server. @returns a function that ends it; null while nothing is traced. */
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

/** Starts a root span for everything that runs from here on in this asynchronous context. */
export function enterRequestSpan(name: string): Span | null {
  if (!recorder) return null;
  const span = recorder.start(name, spanKinds.server, {}, null);
  active.enterWith(span);
  return span;
}
