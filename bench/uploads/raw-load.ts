// Requests one URL over plain sockets for a while and reports over IPC how many answers came completely. It only parses
// the first answer, to learn its length, and then counts bytes: a client that parses answers would be the slowest of
// the three, and make all servers look equally fast.
import { connect } from "node:net";

const [href = "", connections = "1", seconds = "4"] = process.argv.slice(2);
const { hostname, port, pathname, host } = new URL(href);
const request = `GET ${pathname} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
const buffer = Buffer.alloc(1_048_576);
let answers = 0;
let wrong = 0;

function ask(): Promise<void> {
  return new Promise((done) => {
    let length = 0;
    let left = 0;
    const received = (size: number, bytes: Uint8Array) => {
      if (length === 0) {
        const text = Buffer.from(bytes.buffer, bytes.byteOffset, size).toString("latin1");
        const end = text.indexOf("\r\n\r\n");
        length = end + 4 + Number(/content-length: (\d+)/i.exec(text.slice(0, end))?.[1]);
        if (!text.startsWith("HTTP/1.1 200") || !(length > end)) wrong += 1;
        left = length;
      }
      left -= size;
      if (left > 0) return true;
      if (left < 0) wrong += 1;
      answers += 1;
      left = length;
      socket.write(request);
      return true;
    };
    const socket = connect({ host: hostname, port: Number(port), onread: { buffer, callback: received } });
    socket.on("connect", () => socket.write(request));
    socket.on("error", () => {
      wrong += 1;
    });
    socket.on("close", () => done());
    setTimeout(() => socket.destroy(), Number(seconds) * 1_000);
  });
}

const startedAt = performance.now();
await Promise.all(Array.from({ length: Number(connections) }, ask));
const elapsed = (performance.now() - startedAt) / 1_000;
process.send?.({ perSecond: answers / elapsed, wrong }, () => process.exit(0));
