// `npm run -s mintyard -- dev bench stores`: uploads and reads of blocks in S3 compared with the local folder, with
// OpenStack Swift on this machine. Options: --files 150 --rounds 3. The last line is JSON with every figure.
import { randomBytes, randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { startPostgres } from "../../src/embedded/postgres.ts";
import { freePorts } from "../../src/free-port.ts";
import { ServiceProcess } from "../../test/setup/service-process.ts";
import { hasSwift, Swift } from "../../test/setup/swift.ts";

const { values: options } = parseArgs({
  options: { files: { type: "string", default: "150" }, rounds: { type: "string", default: "3" } },
});
const [count, rounds] = [Number(options.files), Number(options.rounds)];
/** Too large for a process's memory cache, each and in total. */
const fileBytes = 300_000;
const documents = 1_000;
const figures: Record<string, number> = {};
const taken = new Map<string, number[]>();
const median = (numbers: readonly number[]) =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? Number.NaN;

if (!hasSwift)
  throw new Error(
    "OpenStack Swift is not installed: apt-get install swift-proxy swift-account swift-container swift-object",
  );
const dir = await mkdtemp(join(tmpdir(), "mintyard-bench-"));
const [postgresPort = 0] = await freePorts(1);
const postgres = await startPostgres(dir, postgresPort);
const swift = await Swift.start();
try {
  const kinds = { local: {}, s3: await swift.settings("content") };
  const key = randomUUID();
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of round % 2 === 0 ? (["local", "s3"] as const) : (["s3", "local"] as const)) {
      const first = await startApi(join(dir, `${kind}-${round}`), kinds[kind], key);
      const files: string[] = [];
      // The first upload is a warm-up.
      await upload(first.url, key, randomBytes(fileBytes));
      await time(`${kind}_upload`, count, async () => {
        for (let file = 0; file < count; file += 1) files.push(await upload(first.url, key, randomBytes(fileBytes)));
      });
      const folder = await uploadFolder(first.url, key, `${kind} ${round}`);
      await first.process.end();
      // Another host without cached copies; then a process with copies on its disk and none in memory.
      const host = join(dir, kind === "local" ? `${kind}-${round}` : `${kind}-${round}-other`);
      for (const state of kind === "local" ? ["warm"] : ["cold", "warm"]) {
        const api = await startApi(host, kinds[kind], key);
        await read(api.url, folder, 1);
        await time(`${kind}_${state}_file`, count, async () => {
          for (const cid of files) await read(api.url, cid, fileBytes);
        });
        await time(`${kind}_${state}_document`, documents - 1, async () => {
          for (let id = 1; id < documents; id += 1) await read(api.url, `${folder}/${id}`, 1);
        });
        await api.process.end();
      }
    }
  }
  for (const [name, numbers] of taken) figures[`${name}_ms`] = Math.round(median(numbers) * 100) / 100;
  for (const [name, base] of [
    ["s3_upload", "local_upload"],
    ...["file", "document"].flatMap((what) =>
      ["cold", "warm"].map((state) => [`s3_${state}_${what}`, `local_warm_${what}`]),
    ),
  ] as [string, string][]) {
    // Ratios within one round, in which both see the same load of the machine.
    const ratios = (taken.get(name) ?? []).map((ms, round) => ms / (taken.get(base)?.[round] ?? Number.NaN));
    figures[`${name}_times_local`] = Math.round(median(ratios) * 100) / 100;
  }
} finally {
  await swift.stop();
  await postgres.stop();
  await rm(dir, { recursive: true, force: true });
}
console.log(JSON.stringify(figures));

async function startApi(dataDir: string, settings: Record<string, string>, key: string) {
  const [port = 0] = await freePorts(1);
  const process = await ServiceProcess.start("api", {
    ...settings,
    DATABASE_URL: postgres.url,
    MINTYARD_DATA_DIR: dataDir,
    MINTYARD_API_KEY: key,
    PORT: String(port),
    RATE_LIMITS: "off",
    LOG_LEVEL: "error",
  });
  return { process, url: `http://127.0.0.1:${port}` };
}

/** Records milliseconds for one of `times` pieces of work. */
async function time(name: string, times: number, work: () => Promise<void>): Promise<void> {
  const startedAt = performance.now();
  await work();
  const ms = (performance.now() - startedAt) / times;
  taken.set(name, [...(taken.get(name) ?? []), ms]);
  console.log(`${new Date().toISOString().slice(11, 19)} ${name}: ${ms.toFixed(2)} ms`);
}

async function upload(url: string, key: string, bytes: Uint8Array): Promise<string> {
  const form = new FormData();
  form.append("file", new Blob([new Uint8Array(bytes)]), "a.bin");
  return await post(`${url}/v0/files`, key, form);
}

async function uploadFolder(url: string, key: string, seed: string): Promise<string> {
  const form = new FormData();
  for (let id = 0; id < documents; id += 1)
    form.append(
      "metadata_files",
      new Blob([JSON.stringify({ name: `${seed} ${id}`, image: "ipfs://x" })]),
      `${id}.json`,
    );
  return await post(`${url}/v0/metadata/directory`, key, form);
}

/** @returns the CID. */
async function post(url: string, key: string, body: FormData): Promise<string> {
  const answer = await fetch(url, { method: "POST", headers: { Authorization: key }, body });
  const text = await answer.text();
  const cid = /\b(baf[a-z2-7]{50,})/.exec(text)?.[1];
  if (!answer.ok || !cid) throw new Error(`${answer.status} ${text}`);
  return cid;
}

async function read(url: string, path: string, least: number): Promise<void> {
  const answer = await fetch(`${url}/ipfs/${path}`);
  const { byteLength } = await answer.arrayBuffer();
  if (!answer.ok || byteLength < least) throw new Error(`${path}: ${answer.status}, ${byteLength} bytes`);
}
