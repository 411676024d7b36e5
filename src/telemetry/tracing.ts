import type { Context, Span } from "@opentelemetry/api";
import { setRecorder } from "./span.ts";

/** Where traces go, and which share of requests is traced. */
export interface Traces {
  endpoint: string;
  /** From 0 to 1. */
  ratio: number;
}

/**
 * Sends traces to `OTEL_EXPORTER_OTLP_ENDPOINT` from now on. Without that, nothing of OpenTelemetry is loaded. Call
 * this before pools are created.
 *
 * @param processName the service's name is `mintyard-` and this.
 * @returns a function that sends the remaining traces and ends.
 */
export async function startTracing(
  { traces }: { traces: Traces | null },
  processName: string,
): Promise<() => Promise<void>> {
  if (!traces) return async () => undefined;
  const [{ ROOT_CONTEXT, SpanStatusCode, trace }, sdk, { OTLPTraceExporter }] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/sdk-trace-base"),
    import("@opentelemetry/exporter-trace-otlp-http"),
  ]);
  const attributes = { "service.name": `mintyard-${processName}`, "process.pid": process.pid };
  const provider = new sdk.BasicTracerProvider({
    resource: {
      attributes,
      merge() {
        return this;
      },
      getRawAttributes: () => Object.entries(attributes),
    },
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(traces.ratio) }),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter({ url: `${traces.endpoint}/v1/traces` }))],
  });
  const tracer = provider.getTracer("mintyard");
  const below = (parent: Span | null): Context => (parent ? trace.setSpan(ROOT_CONTEXT, parent) : ROOT_CONTEXT);
  setRecorder({
    tracer,
    start: (name, kind, given, parent) => tracer.startSpan(name, { kind, attributes: given }, below(parent)),
    fail: (span, error) => {
      const { code, name } = (error ?? {}) as { code?: unknown; name?: unknown };
      span.setAttribute("error.type", typeof code === "string" ? code : typeof name === "string" ? name : "unknown");
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
  });
  return async () => {
    setRecorder(null);
    // A collector that is away must not delay the shutdown.
    await Promise.race([provider.shutdown(), new Promise((done) => setTimeout(done, 1_000).unref())]).catch(
      () => undefined,
    );
  };
}
