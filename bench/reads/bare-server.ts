// The yardstick: node:http and pg, JSON made by PostgreSQL, prepared statements, nothing else.
// Started by bench-reads.ts, which sends it the statements over IPC.
import { createServer } from "node:http";
import pg from "pg";

export interface BareRead {
  text: string;
  /** Bytes are sent as `\x…` text. */
  values: string[];
  column: string;
  prefix: string;
  suffix: string;
}

let reads: BareRead[] = [];
const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
const names = new Map<string, string>();

const server = createServer((request, response) => {
  const read = reads[Number(request.url?.slice(1))];
  request.resume();
  if (!read) return void response.writeHead(404).end();
  const name = names.get(read.text) ?? `b${names.size}`;
  names.set(read.text, name);
  pool.query({ name, text: read.text, values: read.values }).then(
    ({ rows }) => {
      const body = read.prefix + (rows[0]?.[read.column] ?? "") + read.suffix;
      response.writeHead(200, { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) });
      response.end(body);
    },
    (error) => response.writeHead(500).end(String(error)),
  );
});
process.on("message", (sent: BareRead[]) => {
  reads = sent;
  process.send?.({ reads: sent.length });
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
