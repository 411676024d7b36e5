import { createServer, request, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, expect, test } from "vitest";
import { Connections } from "../../src/http/limits.ts";
import { patient } from "../setup/wait.ts";

const most = 20;
let server: Server;
const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
  server.closeAllConnections();
  server.close();
});

/** Answers at once, but for `/wait`, which is never answered. */
async function listen(): Promise<number> {
  server = createServer(({ url }, response) => {
    if (url !== "/wait") response.end("ok");
  });
  new Connections(most).watch(server);
  await new Promise<void>((ready) => server.listen(0, "0.0.0.0", ready));
  return (server.address() as AddressInfo).port;
}

async function open(port: number, localAddress: string, text = ""): Promise<Socket> {
  const socket = connect({ port, host: "127.0.0.1", localAddress });
  sockets.push(socket);
  socket.on("error", () => undefined);
  await new Promise((done) => socket.once("connect", done).once("close", done));
  if (text !== "") socket.write(text);
  return socket;
}

function ask(port: number, localAddress: string): Promise<number> {
  return new Promise((done) => {
    const outgoing = request({ port, host: "127.0.0.1", localAddress, agent: false }, (answer) => {
      answer.resume();
      done(answer.statusCode ?? 0);
    });
    outgoing.once("error", () => done(0));
    outgoing.end();
  });
}

const isOpen = (socket: Socket) => !socket.destroyed && !socket.readableEnded;

test("idle connections of one address keep nobody else out, and lose no answer that is under way", async () => {
  const port = await listen();
  const busy = await open(port, "127.0.0.2", "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  const idle: Socket[] = [];
  for (let at = 0; at < most + 10; at += 1) {
    const socket = await open(port, "127.0.0.2");
    socket.resume();
    idle.push(socket);
  }
  for (let at = 0; at < 5; at += 1) expect(await ask(port, "127.0.0.3")).toBe(200);
  await expect.poll(() => idle.filter(isOpen).length, patient).toBeLessThan(most);
  expect(isOpen(busy)).toBe(true);
  // The newest of them have stayed.
  expect(isOpen(idle.at(-1) as Socket)).toBe(true);
});

test("nor do as many answers that it never ends", async () => {
  const port = await listen();
  for (let at = 0; at < most; at += 1) await open(port, "127.0.0.2", "GET /wait HTTP/1.1\r\nHost: x\r\n\r\n");
  await expect.poll(() => ask(port, "127.0.0.3"), patient).toBe(200);
});
