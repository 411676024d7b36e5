import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiServer } from "../setup/api-server.ts";
import { form } from "../uploads/upload-server.ts";

const megabyte = 1_048_576;
let server: ApiServer;
let key: string;
/** Four blocks, the third of which is damaged on disk. */
let damaged: string;
const size = 4 * megabyte;
const sound = { offset: 100, length: 1_000 };
const broken = { offset: 2 * megabyte + 10, length: 20 };

beforeAll(async () => {
  server = await ApiServer.start();
  key = (await server.account()).key;
  damaged = await upload(Array.from({ length: 4 }, (_, block) => String(block).repeat(megabyte)).join(""));
  await damage(damaged, "22222222");
});
afterAll(() => server.close());

async function upload(text: string): Promise<string> {
  const body = form("file", [{ filename: "a.txt", text, type: "text/plain" }]);
  const answer = await fetch(`${server.url}/v0/files`, { method: "POST", headers: { Authorization: key }, body });
  return ((await answer.json()) as { ipfs_url: string }).ipfs_url.replace("https://ipfs.io/ipfs/", "");
}

/** Changes one byte of the stored CAR, where `text` first stands in it. */
async function damage(root: string, text: string): Promise<void> {
  const { file } = await server.services.db
    .selectFrom("service.car")
    .select("file")
    .where("root", "=", root)
    .executeTakeFirstOrThrow();
  const path = server.services.content.carPath(file);
  const bytes = await readFile(path);
  const at = bytes.indexOf(text) + 1_000;
  bytes[at] = (bytes[at] ?? 0) ^ 1;
  await writeFile(path, bytes);
}

/** The bytes of an answer as they came, up to the end of the connection or `idleMs` without any. */
async function raw(path: string, headers: string[], idleMs = 2_000): Promise<{ text: string; ended: boolean }> {
  const socket = connect(server.port, "127.0.0.1");
  const chunks: Buffer[] = [];
  let ended = false;
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  socket.on("error", () => undefined);
  socket.on("close", () => {
    ended = true;
  });
  socket.write(`${[`GET ${path} HTTP/1.1`, "Host: localhost", ...headers].join("\r\n")}\r\n\r\n`);
  socket.setTimeout(idleMs);
  await Promise.race([once(socket, "close"), once(socket, "timeout")]);
  const result = { text: Buffer.concat(chunks).toString("latin1"), ended };
  socket.destroy();
  return result;
}

const rangeOf = ({ offset, length }: { offset: number; length: number }) => `bytes=${offset}-${offset + length - 1}`;

test("a part that cannot be read is an error with the headers of an error, and its whole body", async () => {
  for (const headers of [{ Range: rangeOf(broken) }, { Range: `bytes=${2 * megabyte}-` }]) {
    const answer = await fetch(`${server.url}/ipfs/${damaged}`, { headers });
    expect([answer.status, answer.headers.get("cache-control")]).toEqual([503, "no-store"]);
    for (const name of ["etag", "content-range", "accept-ranges", "content-disposition"]) {
      expect([name, answer.headers.get(name)]).toEqual([name, null]);
    }
    const text = await answer.text();
    expect(answer.headers.get("content-type")).toBe("application/json");
    expect(answer.headers.get("content-length") ?? String(text.length)).toBe(String(text.length));
    expect(JSON.parse(text)).toMatchObject({ response: "NOK", error: { code: "service_unavailable" } });
  }
  const fine = await fetch(`${server.url}/ipfs/${damaged}`, { headers: { Range: rangeOf(sound) } });
  expect([fine.status, (await fine.text()).length]).toEqual([206, sound.length]);
});

test("the connection goes on after such an error: the next answer is where a client looks for it", async () => {
  const socket = connect(server.port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  const ask = (path: string, ...headers: string[]) =>
    `${[`GET ${path} HTTP/1.1`, "Host: localhost", ...headers].join("\r\n")}\r\n\r\n`;
  socket.write(ask(`/ipfs/${damaged}`, `Range: ${rangeOf(broken)}`) + ask("/livez", "Connection: close"));
  await once(socket, "close");
  const text = Buffer.concat(chunks).toString("latin1");
  const [, first = "", second] = text.split("HTTP/1.1 ");
  expect([first.slice(0, 3), second?.slice(0, 3)]).toEqual(["503", "200"]);
  const [head = "", body = ""] = first.split("\r\n\r\n");
  expect(/content-length: (\d+)/i.exec(head)?.[1]).toBe(String(body.length));
});

test("a failure after the first byte ends the connection, so that no reader takes a part for the whole", async () => {
  const whole = await raw(`/ipfs/${damaged}`, []);
  expect(whole.text).toMatch(/^HTTP\/1\.1 200 /);
  expect(whole.ended).toBe(true);
  expect(whole.text.length).toBeLessThan(size);
  expect(whole.text).not.toContain("service_unavailable");

  // Chunked: its last chunk would say that this is all.
  const car = await raw(`/ipfs/${damaged}?format=car`, []);
  expect([car.ended, car.text.endsWith("0\r\n\r\n")]).toEqual([true, false]);
  const failed = await new Promise<boolean>((done) => {
    const call = request(`${server.url}/ipfs/${damaged}`, (answer) => {
      answer.resume();
      answer.on("end", () => done(false));
      answer.on("error", () => done(true));
    });
    call.on("error", () => done(true));
    call.end();
  });
  expect(failed).toBe(true);
});

test("below a file there is nothing, however the file was found", async () => {
  const { services } = server;
  const large = "x".repeat(3 * megabyte);
  async function* files() {
    yield { names: ["large.txt"], bytes: Buffer.from(large), contentType: "text/plain" };
    yield { names: ["small.txt"], bytes: Buffer.from("small"), contentType: "text/plain" };
  }
  const root = await services.content.addDirectory(files(), async (_transaction, { cid }) => cid);
  const entry = async (name: string) => {
    const found = await services.content.resolve(root, [name]);
    return found?.cid ?? "";
  };
  const inner = [await entry("large.txt"), await entry("small.txt")];
  const places = [damaged, ...inner, `${root}/large.txt`, `${root}/small.txt`];
  // The same tree as one that came as a CAR: its files are found by their blocks.
  await services.db.updateTable("service.car").set({ listed: false }).where("root", "=", root).execute();
  await services.db
    .deleteFrom("service.content_entry")
    .where("car_id", "=", services.db.selectFrom("service.car").select("id").where("root", "=", root))
    .execute();
  for (const place of places) {
    for (const below of ["0", "below", "below/deeper", "index.html", "Links/0/Hash", "Data"]) {
      for (const query of ["", "?format=raw", "?format=car"]) {
        const answer = await fetch(`${server.url}/ipfs/${place}/${below}${query}`);
        await answer.body?.cancel();
        expect([`${place}/${below}${query}`, answer.status]).toEqual([`${place}/${below}${query}`, 404]);
      }
    }
  }
});
