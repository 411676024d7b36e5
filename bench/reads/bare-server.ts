// The yardstick: node:http and pg, JSON made by PostgreSQL, prepared statements, nothing else.
// Started by bench-reads.ts, which sends it the statements over IPC.
import { createServer } from "node:http";
import pg from "pg";

export interface BareRead {
  /** Bytes are sent as `\x…` text. */
  statements: { text: string; values: string[]; column: string }[];
  /** What stands before, between and behind what the statements give. */
  texts: string[];
}

let reads: BareRead[] = [];
const pool = new pg.Pool({ connectionString: process.argv[2], max: 10 });
const names = new Map<string, string>();

const server = createServer((request, response) => {
  const read = reads[Number(request.url?.slice(1))];
  request.resume();
  if (!read) return void response.writeHead(404).end();
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
process.on("message", (sent: BareRead[]) => {
  reads = sent;
  process.send?.({ reads: sent.length });
});
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => process.send?.({ port: (server.address() as { port: number }).port }));
