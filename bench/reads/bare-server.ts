// The baseline: node:http and pg, JSON made by PostgreSQL, prepared statements, nothing else. With `pipelined` as its
// second argument, it uses our own pipelined connections instead of pg, which pass values on as bytes: the strongest
// baseline. Started by the benchmarks of reads, which send it the statements over IPC.
import { createServer } from "node:http";
import pg from "pg";
import { openPipelinedConnections } from "../../src/db/pipeline/pipelined-connections.ts";
import { connectionOptions } from "../../src/db/pool/pool.ts";

export interface BareRead {
  /** Bytes are sent as `\x…` text. */
  statements: { text: string; values: string[]; column: string; columnAt?: number }[];
  /** Text before, between and after the statements' results. */
  texts: string[];
}

let reads: BareRead[] = [];
const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
const pipelined =
  process.argv[3] === "pipelined"
    ? openPipelinedConnections(
        connectionOptions(process.argv[2] ?? "", "bare", { tenants: false, statementTimeout: 60_000 }),
      )
    : null;
const names = new Map<string, string>();

const server = createServer((request, response) => {
  const read = reads[Number(request.url?.slice(1))];
  request.resume();
  if (!read) return void response.writeHead(404).end();
  if (pipelined) {
    Promise.all(read.statements.map(runPipelined)).then(
      (parts) => {
        const pieces = parts.flatMap((part, at) => [...part, Buffer.from(read.texts[at + 1] ?? "")]);
        const body = Buffer.concat([Buffer.from(read.texts[0] ?? ""), ...pieces]);
        response.writeHead(200, { "Content-Type": "application/json", "Content-Length": body.length });
        response.end(body);
      },
      (error) => response.writeHead(500).end(String(error)),
    );
    return;
  }
  Promise.all(read.statements.map(run)).then(
    (parts) => {
      let body = read.texts[0] ?? "";
      for (let at = 0; at < parts.length; at += 1) body += parts[at] + (read.texts[at + 1] ?? "");
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
      response.end(body);
    },
    (error) => response.writeHead(500).end(String(error)),
  );
});

async function run({ text, values, column }: BareRead["statements"][number]): Promise<string> {
  const name = names.get(text) ?? `b${names.size}`;
  names.set(text, name);
  const { rows } = await pool.query({ name, text, values });
  return rows[0]?.[column] ?? "";
}

async function runPipelined({ text, values, columnAt = 0 }: BareRead["statements"][number]): Promise<Buffer[]> {
  const row = await pipelined?.first(text, values);
  return (row?.json(columnAt)?.pieces ?? []).filter((piece) => typeof piece !== "string");
}
process.on("message", (sent: BareRead[]) => {
  reads = sent;
  process.send?.({ reads: sent.length });
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
