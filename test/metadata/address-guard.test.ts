import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isPublicAddress } from "../../src/metadata/address-guard.ts";
import { createFetcher, type Fetcher } from "../../src/metadata/fetcher.ts";

let connections = 0;
const servers: Server[] = [];
let port = 0;
let gatewayPort = 0;
let guarded: Fetcher;

async function listen(server: Server, host: string, at = 0): Promise<number> {
  servers.push(server);
  await new Promise<void>((done) => server.listen(at, host, done));
  return (server.address() as AddressInfo).port;
}

const answers: Record<string, string> = {
  "loopback.test": "127.0.0.1",
  "loopback6.test": "::1",
  "mapped.test": "::ffff:127.0.0.1",
  "compatible.test": "::7f00:1",
  "metadata.test": "169.254.169.254",
  "private.test": "10.0.0.1",
  "zero.test": "0.0.0.0",
};

beforeAll(async () => {
  const secret = () =>
    createServer((_request, response) => response.end('{"secret":true}')).on("connection", () => {
      connections += 1;
    });
  port = await listen(secret(), "127.0.0.1");
  await listen(secret(), "::1", port).catch(() => undefined);
  gatewayPort = await listen(
    createServer((request, response) => {
      const target = decodeURIComponent(request.url?.slice(1) ?? "");
      response.writeHead(302, { location: target }).end();
    }),
    "127.0.0.1",
  );
  guarded = createFetcher({
    allowPrivate: false,
    // The listener's own port is allowed here, so that only the address can be what is refused.
    ports: [String(port), "80", "443"],
    resolve: async (name) => {
      if (name === "mixed.test") {
        return [
          { address: "93.184.216.34", family: 4 },
          { address: "127.0.0.1", family: 4 },
        ];
      }
      const address = answers[name];
      if (!address) throw Object.assign(new Error("not found"), { code: "ENOTFOUND" });
      return [{ address, family: address.includes(":") ? 6 : 4 }];
    },
  });
});
afterAll(async () => {
  await guarded.close();
  await Promise.all(servers.map((server) => new Promise((done) => server.close(done))));
});

const hosts = [
  ...["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001"],
  ...["0", "0.0.0.0", "127.255.255.254", "localhost", "localhost.", "LOCALHOST", "ip6-localhost"],
  ...["[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::7f00:1]", "[::127.0.0.1]"],
  ...["[64:ff9b::7f00:1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::1]", "[fc00::1]"],
  ...["①②⑦.⓪.⓪.①", "127.0.0.1.", "127。0。0。1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254"],
  ...["100.64.0.1", "224.0.0.1", "255.255.255.255", ...Object.keys(answers), "mixed.test"],
];
const urls = hosts.map((host) => [host, (at: number) => `http://${host}:${at}/`] as const);
const shapes = [
  ["a user in front", (at: number) => `http://public.example@127.0.0.1:${at}/`],
  ["a user and a password", (at: number) => `http://a:b@127.0.0.1:${at}/`],
  ["a backslash", (at: number) => `http:\\\\127.0.0.1:${at}/`],
  ["tabs and newlines", (at: number) => `ht\ntp://127.0\t.0.1:${at}/`],
  ["an odd port", () => "http://93.184.216.34:22/"],
  ["a mail port", () => "http://93.184.216.34:25/"],
  ["another scheme", () => "file:///etc/passwd"],
  ["an ancient scheme", (at: number) => `gopher://127.0.0.1:${at}/`],
  ["no URL", () => "http://"],
] as const;

test.each([...urls, ...shapes])("%s is not reached", async (_name, url) => {
  expect(await guarded.fetch(url(port))).toEqual({ fault: "address_refused" });
});

// A header cannot carry the rest.
const sendable = [...urls, ...shapes].filter(([, url]) => /^[\x20-\x7e]*$/.test(url(0)));
test.each(sendable)("%s is not reached by a redirect of a trusted gateway", async (_name, url) => {
  const target = encodeURIComponent(url(port));
  const answer = await guarded.fetch(`http://127.0.0.1:${gatewayPort}/${target}`, { trusted: true });
  expect(answer).toEqual({ fault: "address_refused" });
});

test("nothing of all this connected to the listener, which does answer to who may", async () => {
  expect(hosts.length + shapes.length).toBeGreaterThanOrEqual(30);
  expect(connections).toBe(0);
  const open = createFetcher({ allowPrivate: true });
  const answer = await open.fetch(`http://127.0.0.1:${port}/`);
  await open.close();
  expect("bytes" in answer && Buffer.from(answer.bytes).toString()).toBe('{"secret":true}');
  expect(connections).toBe(1);
});

test("addresses of the public internet are public", () => {
  expect(["93.184.216.34", "1.1.1.1", "2606:4700::1111"].filter((address) => !isPublicAddress(address))).toEqual([]);
});
