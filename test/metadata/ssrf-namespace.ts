// Run by ssrf-packets.test.ts inside a network namespace of its own, whose loopback device answers for
// every address there is: it sends each hostile URL through the real fetcher and reports what the
// kernel counted.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { isPublicAddress } from "../../src/outbound/address-guard.ts";
import { createFetcher } from "../../src/outbound/fetcher.ts";
import { createPoster } from "../../src/outbound/post.ts";
import { fitsHeader, resolverOf, ssrfCases } from "./ssrf-cases.ts";
import { listen } from "./strange-server.ts";

for (const command of ["link set lo up", "route add local 0.0.0.0/0 dev lo", "-6 route add local ::/0 dev lo"])
  execFileSync("ip", command.split(" "));

/** Packets that left by the one device, connections that were begun (a SYN each), and datagrams. */
function count() {
  const device = /^\s*lo:(.*)$/m.exec(readFileSync("/proc/net/dev", "utf8"))?.[1]?.trim().split(/\s+/) ?? [];
  const snmp = readFileSync("/proc/net/snmp", "utf8");
  const value = (protocol: string, field: string) => {
    const [names = [], values = []] = [...snmp.matchAll(new RegExp(`^${protocol}: (.*)$`, "gm"))].map(
      (found) => found[1]?.split(" ") ?? [],
    );
    return Number(values[names.indexOf(field)]);
  };
  return {
    packets: Number(device[9]),
    opened: value("Tcp", "ActiveOpens"),
    datagrams: value("Udp", "OutDatagrams"),
  };
}

/** Addresses that somebody connected to, as the listener saw them. */
const dialled: string[] = [];
let redirects = 0;
const secret = () =>
  createServer((_request, response) => response.writeHead(200, { connection: "close" }).end("{}")).on(
    "connection",
    (socket) => {
      dialled.push((socket.localAddress ?? "").replace(/^::ffff:(?=\d+\.)/, ""));
    },
  );
const listener = await listen(secret(), "::");
await listen(secret(), "::", 80);
const gateway = await listen(
  createServer((request, response) =>
    response.writeHead(302, { location: decodeURIComponent(request.url?.slice(1) ?? "") }).end(),
  ).on("connection", () => {
    redirects += 1;
  }),
);
const port = String(listener.port);
const at = (url: string) => url.replace("PORT", port);
const ports = [port, "80", "443"];
const wrong: string[] = [];

const guarded = createFetcher({ allowPrivate: false, ports, resolve: resolverOf(ssrfCases) });
const before = count();
for (const { what, url } of ssrfCases) if (!("fault" in (await guarded.fetch(at(url))))) wrong.push(what);
const direct = count();
// The same URLs as endpoints of webhooks; no connection is open yet whose packets would count.
const { signal } = new AbortController();
const poster = createPoster({ allowPrivate: false, ports, resolve: resolverOf(ssrfCases) });
for (const { what, url } of ssrfCases)
  if (!("fault" in (await poster.post(at(url), {}, "{}", signal)))) wrong.push(`${what}, posted`);
const posted = count();
const sendable = ssrfCases.filter(fitsHeader);
for (const { what, url } of sendable) {
  const answer = await guarded.fetch(`${gateway.url}/${encodeURIComponent(at(url))}`, { trusted: true });
  if (!("fault" in answer)) wrong.push(`${what}, redirected`);
}
const redirected = count();
const reachedByRedirect = [...dialled];

// What an endpoint at a public address redirects to.
dialled.length = 0;
let endpointConnections = 0;
let target = "";
const redirecting = createServer((_request, response) => response.writeHead(302, { location: target }).end()).on(
  "connection",
  () => {
    endpointConnections += 1;
  },
);
const endpoint = await listen(redirecting, "::");
const outside = createPoster({
  allowPrivate: false,
  ports: [...ports, String(endpoint.port)],
  resolve: async () => [{ address: "93.184.216.34", family: 4 }],
});
const beforeRedirects = count();
let redirectAnswers = 0;
for (const { url } of sendable) {
  target = at(url);
  const answer = await outside.post(`http://endpoint.example:${endpoint.port}/`, {}, "{}", signal);
  if ("status" in answer && answer.status === 302) redirectAnswers += 1;
}
const postRedirected = count();
const reachedByPosts = [...dialled];

// A name that is public when it is looked up, and private ever after.
let looked = 0;
const rebinding = createFetcher({
  allowPrivate: false,
  ports,
  resolve: async () => {
    looked += 1;
    return [{ address: looked === 1 ? "93.184.216.34" : "127.0.0.1", family: 4 }];
  },
});
const rebound: string[] = [];
for (let at = 0; at < 5; at += 1) {
  looked = 0;
  const url = `http://rebind${at}.example:${port}/`;
  dialled.length = 0;
  // The answer closes the connection, so that the second request has to look the name up again.
  const first = await rebinding.fetch(url);
  const second = await rebinding.fetch(url);
  rebound.push(
    `${"bytes" in first} ${"fault" in second ? second.fault : "reached"} ${dialled.filter(isPublicAddress).length}/${dialled.length}`,
  );
}
dialled.length = 0;
const quiet = count();
const open = createFetcher({ allowPrivate: true });
for (const host of ["127.0.0.1", "10.0.0.1", "169.254.169.254", "[fd00::1]"])
  await open.fetch(`http://${host}:${port}/`);
const control = count();
process.stdout.write(
  JSON.stringify({
    cases: ssrfCases.length,
    redirectedCases: sendable.length,
    wrong,
    direct: difference(before, direct),
    redirected: { ...difference(posted, redirected), toGateway: redirects, reached: reachedByRedirect },
    posts: difference(direct, posted),
    redirectedPosts: {
      ...difference(beforeRedirects, postRedirected),
      toEndpoint: endpointConnections,
      answers: redirectAnswers,
      reached: reachedByPosts,
    },
    rebound,
    control: { ...difference(quiet, control), dialled },
  }),
);
process.exit(0);

function difference(from: ReturnType<typeof count>, to: ReturnType<typeof count>) {
  return {
    packets: to.packets - from.packets,
    opened: to.opened - from.opened,
    datagrams: to.datagrams - from.datagrams,
  };
}
