// `npm run -s mintyard -- dev bench uploads`: time and memory of uploads over HTTP, and the gateway against nginx.
// Options: --files 10000 --rounds 5 --seconds 4 --only directory,500mb,1gib,after,gateway
// The last line is JSON with every figure. Exits with 1 when a bound of docs/measurements/uploads.md is missed.
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { pipeline } from "node:stream/promises";
import { parseArgs } from "node:util";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { nodeFlags } from "../../src/embedded/supervisor.ts";
import { freePorts } from "../../src/free-port.ts";
import { directoryBody, fileBody, metadataFiles, multipartType } from "./content.ts";
import { startNginx } from "./nginx.ts";

const { values: options } = parseArgs({
  options: {
    files: { type: "string", default: "10000" },
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "4" },
    only: { type: "string", default: "directory,500mb,1gib,after,gateway" },
  },
});
const rounds = Number(options.rounds);
const wanted = new Set(options.only.split(","));
const figures: Record<string, number> = {};
const missed: string[] = [];
const say = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
const median = (numbers: number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;
const mebibyte = 1_048_576;

function note(name: string, value: number): void {
  figures[name] = Math.round(value * 100) / 100;
  say(`${name}: ${figures[name]}`);
}

function check(name: string, value: number, bound: number, most = true): void {
  figures[name] = Math.round(value * 100) / 100;
  const kept = most ? value <= bound : value >= bound;
  if (!kept) missed.push(name);
  say(`${name}: ${figures[name]} (${most ? "at most" : "at least"} ${bound}) ${kept ? "" : "MISSED"}`);
}

const dir = await mkdtemp(join(tmpdir(), "mintyard-bench-"));
const [postgresPort = 0] = await freePorts(1);
const postgres = await startPostgres(dir, postgresPort);
const children = new Set<ChildProcess>();
try {
  if (wanted.has("directory")) await benchDirectory();
  if (wanted.has("500mb")) await benchFile("500mb", 500 * 1_000_000);
  if (wanted.has("200mb")) await benchFile("200mb", 200 * 1_000_000);
  if (wanted.has("1gib")) await benchFile("1gib", 1_024 * mebibyte);
  if (wanted.has("after")) await benchFile("1gib_after_directories", 1_024 * mebibyte, 5);
  if (wanted.has("gateway")) await benchGateway();
} finally {
  for (const child of children) child.kill("SIGKILL");
  await postgres.stop();
  await rm(dir, { recursive: true, force: true });
}
console.log(JSON.stringify({ ...figures, missed }));
process.exitCode = missed.length > 0 ? 1 : 0;

async function benchDirectory(): Promise<void> {
  const count = Number(options.files);
  const api = await startApi();
  const bare = await start("bare-importer.ts", {});
  const ratios: number[] = [];
  const times: number[] = [];
  for (let round = 0; round <= rounds; round += 1) {
    const heard = next<{ ms: number }>(bare);
    bare.send({ count, round, path: join(dir, "bare.car") });
    const { ms: bareMs } = await heard;
    const body = directoryBody(metadataFiles(count, round));
    const { ms, answer } = await post(api, "/v0/metadata/directory", { length: body.length, chunks: slices(body) });
    if (answer["response"] !== "OK") throw new Error(JSON.stringify(answer));
    say(
      `${count} files, ${(body.length / mebibyte).toFixed(1)} MiB: ${ms.toFixed(0)} ms, bare importer ${bareMs.toFixed(0)} ms`,
    );
    // The first round is a warm-up for both.
    if (round === 0) continue;
    times.push(ms);
    ratios.push(ms / bareMs);
  }
  note("directory_ms", median(times));
  check("directory_times_bare_importer", median(ratios), 2);
  check("directory_peak_mib", peakOf(api.child), 350);
  await stop(api.child);
  await stop(bare);
}

/** @param directories that the same process takes first, which makes its heap grow. */
async function benchFile(name: string, sizeBytes: number, directories = 0): Promise<void> {
  const api = await startApi(sizeBytes);
  for (let round = 0; round < directories; round += 1) {
    const body = directoryBody(metadataFiles(Number(options.files), round));
    const { answer } = await post(api, "/v0/metadata/directory", { length: body.length, chunks: slices(body) });
    if (answer["response"] !== "OK") throw new Error(JSON.stringify(answer));
  }
  if (directories > 0) forgetPeak(api.child);
  note(`file_${name}_idle_mib`, peakOf(api.child));
  const { ms, answer } = await post(api, "/v0/files", fileBody(sizeBytes, name));
  if (answer["response"] !== "OK") throw new Error(JSON.stringify(answer));
  note(`file_${name}_mib_per_second`, sizeBytes / mebibyte / (ms / 1_000));
  check(`file_${name}_peak_mib`, peakOf(api.child), 256);
  const cid = String(answer["ipfs_url"]).split("/").at(-1);
  const read = await fetch(`${api.url}/ipfs/${cid}`);
  let size = 0;
  if (read.body) for await (const chunk of read.body) size += chunk.length;
  if (size !== sizeBytes) throw new Error(`${size} bytes came back instead of ${sizeBytes}`);
  check(`file_${name}_read_back_peak_mib`, peakOf(api.child), 256);
  await stop(api.child);
}

async function benchGateway(): Promise<void> {
  const bytes = Buffer.concat([...fileBody(100_000, "gateway").chunks]).subarray(0, 100_000);
  const nginx = await startNginx(dir, { "100k.bin": bytes });
  if (!nginx) return say("nginx is not installed: the gateway is not compared");
  try {
    const api = await startApi();
    const form = new FormData();
    form.append("file", new Blob([new Uint8Array(bytes)]), "100k.bin");
    const headers = { Authorization: api.key };
    const stored = await (await fetch(`${api.url}/v0/files`, { method: "POST", headers, body: form })).json();
    const cid = String((stored as { ipfs_url: string }).ipfs_url)
      .split("/")
      .at(-1);
    const sides = { nginx: `${nginx.url}/100k.bin`, ours: `${api.url}/ipfs/${cid}` };
    for (const connections of [1, 32]) {
      const rates: Record<keyof typeof sides, number[]> = { nginx: [], ours: [] };
      for (let round = 0; round <= rounds; round += 1) {
        for (const side of round % 2 === 0 ? (["nginx", "ours"] as const) : (["ours", "nginx"] as const)) {
          const duration = round === 0 ? 1 : Number(options.seconds);
          const { perSecond, wrong } = await load(sides[side], connections, duration);
          if (wrong > 0) throw new Error(`${side} failed ${wrong} times`);
          if (round > 0) rates[side].push(perSecond);
        }
      }
      say(
        `100 KB, ${connections} connections: ${median(rates.ours).toFixed(0)}/s, nginx ${median(rates.nginx).toFixed(0)}/s`,
      );
      const ratios = rates.ours.map((rate, index) => rate / (rates.nginx[index] ?? Number.NaN));
      check(`gateway_of_nginx_${connections}`, median(ratios), 0.25, false);
    }
    check("gateway_peak_mib", peakOf(api.child), 350);
    await stop(api.child);
  } finally {
    nginx.stop();
  }
}

/** In a process of its own, so that the client's CPU time does not count here. */
async function load(url: string, connections: number, seconds: number): Promise<{ perSecond: number; wrong: number }> {
  const child = fork(join(import.meta.dirname, "raw-load.ts"), [url, String(connections), String(seconds)]);
  children.add(child);
  const result = await next<{ perSecond: number; wrong: number }>(child);
  children.delete(child);
  return result;
}

interface Api {
  child: ChildProcess;
  url: string;
  key: string;
}

/** A fresh process each time, so that its peak memory belongs to this measurement. */
async function startApi(fileBytes = 20_971_520): Promise<Api> {
  const [port = 0] = await freePorts(1);
  const key = randomUUID();
  const child = await start("../../src/processes/api.ts", {
    DATABASE_URL: postgres.url,
    KEY_PEPPER: "of the tests",
    PORT: String(port),
    MINTYARD_API_KEY: key,
    MINTYARD_DATA_DIR: join(dir, "service"),
    MAX_FILE_BYTES: String(fileBytes),
    LOG_LEVEL: "error",
  });
  return { child, url: `http://127.0.0.1:${port}`, key };
}

async function start(file: string, env: Record<string, string>): Promise<ChildProcess> {
  const child = fork(join(import.meta.dirname, file), {
    // As in `npm start`; BENCH_FLAGS replaces the flags.
    execArgv: process.env["BENCH_FLAGS"]?.split(" ") ?? nodeFlags,
    env: { PATH: process.env["PATH"], ...env },
  });
  children.add(child);
  await next(child);
  return child;
}

function next<T>(child: ChildProcess): Promise<T> {
  return new Promise((got, failed) => {
    const onExit = (code: number | null) => failed(new Error(`a process ended with code ${code}`));
    child.once("exit", onExit);
    child.once("message", (message) => {
      child.off("exit", onExit);
      got(message as T);
    });
  });
}

async function stop(child: ChildProcess): Promise<void> {
  const ended = new Promise((done) => child.once("exit", done));
  child.kill("SIGTERM");
  await ended;
  children.delete(child);
}

/** Peak memory of the process in MiB; needs /proc. */
function peakOf(child: ChildProcess): number {
  const [, kilobytes] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, "utf8")) ?? [];
  return Number(kilobytes) / 1_024;
}

/** Resets the peak that `peakOf` reports. */
function forgetPeak(child: ChildProcess): void {
  writeFileSync(`/proc/${child.pid}/clear_refs`, "5");
}

function* slices(body: Buffer): Iterable<Buffer> {
  for (let at = 0; at < body.length; at += 65_536) yield body.subarray(at, at + 65_536);
}

/** @returns the time from the first byte sent to the last byte of the answer. */
async function post(api: Api, path: string, body: { length: number; chunks: Iterable<Buffer> }) {
  const startedAt = performance.now();
  const headers = { Authorization: api.key, "Content-Type": multipartType, "Content-Length": body.length };
  const sent = request(`${api.url}${path}`, { method: "POST", headers });
  const answered = new Promise<string>((done, failed) => {
    sent.once("error", failed);
    sent.once("response", (response) => text(response).then(done, failed));
  });
  await pipeline(Readable.from(body.chunks, { highWaterMark: 2 }), sent);
  const answer = JSON.parse(await answered) as Record<string, unknown>;
  return { ms: performance.now() - startedAt, answer };
}
