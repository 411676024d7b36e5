import { connect } from "node:net";

/**
 * Writes bytes to a server as they are and collects what comes back until the connection ends,
 * at most for `quietMs` after the last write.
 */
export async function rawRequest(
  port: number,
  pieces: readonly (string | Buffer)[],
  options: { end?: boolean; destroy?: boolean; quietMs?: number } = {},
): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.on("data", (chunk) => {
    text += chunk.toString("latin1");
  });
  const closed = new Promise<void>((done) => socket.on("close", () => done()));
  socket.on("error", () => undefined);
  for (const piece of pieces) await new Promise<void>((done) => socket.write(piece, () => done()));
  if (options.end) socket.end();
  if (options.destroy) socket.destroy();
  await Promise.race([closed, new Promise((done) => setTimeout(done, options.quietMs ?? 60_000))]);
  socket.destroy();
  return text;
}

const boundary = "xxBOUNDARYxx";

/** The head of a multipart POST whose body has the given length. The server closes after it unless `keep`. */
export function head(path: string, length: number | "chunked", keep = false): string {
  const size = length === "chunked" ? "Transfer-Encoding: chunked" : `Content-Length: ${length}`;
  const connection = keep ? "keep-alive" : "close";
  const type = `multipart/form-data; boundary=${boundary}`;
  return `POST ${path} HTTP/1.1\r\nHost: test\r\nConnection: ${connection}\r\nContent-Type: ${type}\r\n${size}\r\n\r\n`;
}

export function part(disposition: string, body: string, type?: string): string {
  const typeLine = type === undefined ? "" : `Content-Type: ${type}\r\n`;
  return `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${typeLine}\r\n${body}\r\n`;
}

export const closing = `--${boundary}--\r\n`;

/** Sends a whole form; answers with status and body. */
export async function sendForm(port: number, path: string, body: string): Promise<{ status: number; body: unknown }> {
  const text = await rawRequest(port, [head(path, Buffer.byteLength(body)), body]);
  return parseAnswer(text);
}

export function parseAnswer(text: string): {
  status: number;
  body: { error?: { code: string } } & Record<string, unknown>;
} {
  const json = /\r\n\r\n(\{.*\})/s.exec(text)?.[1] ?? "null";
  return { status: Number(text.slice(9, 12)), body: JSON.parse(json) };
}
