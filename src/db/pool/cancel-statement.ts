import { connect } from "node:net";
import type pg from "pg";

const timeoutMs = 2_000;

/** What `pg` knows of a connection and does not name in its types. */
interface Connected {
  host?: string;
  port?: number;
  processID?: number | null;
  secretKey?: number | null;
}

/**
 * Asks the server to end the statement that a connection runs: a CancelRequest over a connection of its own, which takes
 * nothing of `max_connections`. Never fails: a statement that it does not reach ends by its `statement_timeout`.
 */
export function cancelStatement(client: pg.ClientBase): void {
  const { host, port, processID, secretKey } = client as pg.ClientBase & Connected;
  if (!host || !port || !processID || secretKey == null) return;
  const bytes = Buffer.alloc(16);
  bytes.writeInt32BE(16, 0);
  // The number that stands for a CancelRequest instead of a protocol version.
  bytes.writeInt32BE(80_877_102, 4);
  bytes.writeInt32BE(processID, 8);
  bytes.writeInt32BE(secretKey, 12);
  const socket = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
  socket.on("error", () => undefined);
  socket.setTimeout(timeoutMs, () => socket.destroy());
  socket.once("connect", () => socket.end(bytes));
}
