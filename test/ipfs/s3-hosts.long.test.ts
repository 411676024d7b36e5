import { randomUUID } from "node:crypto";
import { ListMultipartUploadsCommand, ListObjectsV2Command } from "@aws-sdk/client-s3";
import { exporter } from "ipfs-unixfs-exporter";
import type { CID } from "multiformats/cid";
import { sha256 } from "multiformats/hashes/sha2";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { loadConfig } from "../../src/config/config.ts";
import { createDatabase } from "../../src/db/pool/pool.ts";
import { freePorts } from "../../src/free-port.ts";
import { openContentStore } from "../../src/ipfs/content-store.ts";
import { createTestDatabase, type TestDatabase } from "../setup/database.ts";
import { ServiceProcess } from "../setup/service-process.ts";
import { hasSwift, Swift } from "../setup/swift.ts";
import { TcpProxy } from "../setup/tcp-proxy.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { slowness, wait } from "../setup/wait.ts";
import { cidText, directoryNode, fileNode } from "./second-unixfs.ts";

const [minute, day] = [60_000, 86_400_000];
const count = 300;

/** A host: an API process with a folder and a way to the store of its own. */
interface Host {
  url: string;
  process: ServiceProcess;
  way: TcpProxy;
}

describe.skipIf(!hasSwift)("two API hosts on one bucket, by OpenStack Swift", () => {
  let swift: Swift;
  let database: TestDatabase;
  let settings: Record<string, string>;
  const key = randomUUID();
  const hosts: Host[] = [];
  beforeAll(async () => {
    swift = await Swift.start();
    settings = await swift.settings("content");
    database = await createTestDatabase();
  });
  afterAll(async () => {
    for (const { process, way } of hosts) {
      await process.end("SIGKILL");
      await way.stop();
    }
    await database?.drop();
    await swift?.stop();
  });

  async function startHost(dataDir: string): Promise<Host> {
    const way = await TcpProxy.start(swift.port);
    const [port = 0] = await freePorts(1);
    const process = await ServiceProcess.start("api", {
      ...settings,
      AWS_ENDPOINT_URL_S3: way.url,
      DATABASE_URL: database.url,
      MINTYARD_DATA_DIR: dataDir,
      MINTYARD_API_KEY: key,
      PORT: String(port),
      RATE_LIMITS: "off",
      LOG_LEVEL: "warn",
    });
    const host = { url: `http://127.0.0.1:${port}`, process, way };
    hosts.push(host);
    return host;
  }

  const textOf = (seed: string, id: number) => JSON.stringify({ name: `${seed} ${id}`, description: filler(seed, id) });
  const rootOf = (seed: string) => {
    const names = new Map<string, ReturnType<typeof fileNode>>();
    for (let id = 0; id < count; id += 1)
      for (const name of [`${id}`, `${id}.json`]) names.set(name, fileNode(Buffer.from(textOf(seed, id))));
    return cidText(directoryNode(names).cid);
  };

  async function upload(host: Host, seed: string): Promise<string> {
    const form = new FormData();
    for (let id = 0; id < count; id += 1)
      form.append("metadata_files", new Blob([textOf(seed, id)], { type: "application/json" }), `${id}.json`);
    const headers = { Authorization: key };
    const answer = await fetch(`${host.url}/v0/metadata/directory`, { method: "POST", headers, body: form });
    const body = (await answer.json()) as Record<string, unknown>;
    if (answer.status !== 200) throw new Error(`${answer.status} ${JSON.stringify(body)}`);
    return /(baf[a-z0-9]+)/.exec(JSON.stringify(body))?.[1] ?? "";
  }

  /** Reads a directory through a host's gateway block by block with the ecosystem's exporter, and some files as readers do. */
  async function expectWhole(host: Host, cid: string, seed: string): Promise<void> {
    const storage = {
      async *get(block: CID) {
        const answer = await fetch(`${host.url}/ipfs/${block}?format=raw`);
        const bytes = new Uint8Array(await answer.arrayBuffer());
        expect((await sha256.digest(bytes)).bytes).toEqual(block.multihash.bytes);
        yield bytes;
      },
    };
    for (const id of [0, 7, 160, count - 1]) {
      const node = await exporter(`${cid}/${id}.json`, storage);
      if (node.type !== "file" && node.type !== "raw") throw new Error("no file");
      const parts: Uint8Array[] = [];
      for await (const part of node.content()) parts.push(part);
      expect(Buffer.concat(parts).toString()).toBe(textOf(seed, id));
    }
    for (let id = 0; id < count; id += 19)
      expect(await (await fetch(`${host.url}/ipfs/${cid}/${id}`)).text()).toBe(textOf(seed, id));
  }

  const knownRoots = async () =>
    (await database.pool.query<{ root: string }>("SELECT root FROM service.car")).rows.map(({ root }) => root);

  test(
    "what one host took another serves; one that is killed in the middle of a folder leaves nothing that is known or unreadable",
    async () => {
      const first = await startHost(temporaryFolder());
      const second = await startHost(temporaryFolder());
      const before = first.way.passed;
      const cid = await upload(first, "whole");
      const length = first.way.passed - before;
      // In parts: it is larger than one request takes.
      expect(length).toBeGreaterThan(10_000_000);
      expect(cid).toBe(rootOf("whole"));
      await expectWhole(second, cid, "whole");
      // The same again by the other host is the same content, and no second object of it stays.
      expect(await upload(second, "whole")).toBe(cid);
      expect(await knownRoots()).toEqual([cid]);

      const dead: string[] = [];
      // In the middle of its parts, and when hardly more than the end of them is missing.
      for (const [at, share] of [0.5, 0.98].entries()) {
        const host = await startHost(temporaryFolder());
        const seed = `killed ${at}`;
        const start = host.way.passed;
        const cut = upload(host, seed).then(
          () => "acknowledged",
          () => "cut",
        );
        await wait("bytes on their way", () => host.way.passed - start > share * length || !host.process.running);
        await host.process.end("SIGKILL");
        const ended = await cut;
        const roots = await knownRoots();
        if (ended === "acknowledged") await expectWhole(second, rootOf(seed), seed);
        // Not acknowledged, it may all be there, when the answer alone was lost; never in part.
        else if (roots.includes(rootOf(seed))) await expectWhole(second, rootOf(seed), seed);
        else dead.push(rootOf(seed));
        const again = await upload(second, seed);
        expect(again).toBe(rootOf(seed));
        await expectWhole(first, again, seed);
      }
      // At least one was killed before it was known.
      expect(dead.length).toBeGreaterThan(0);

      const content = openContentStore(
        loadConfig({ ...settings, DATABASE_URL: database.url, MINTYARD_DATA_DIR: temporaryFolder() }),
        createDatabase(database.pool),
      );
      await content.sweep(Date.now() + 11 * minute);
      await content.sweep(Date.now() + 9 * day);
      await content.close();
      const client = swift.client();
      const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket: "content" }));
      expect(uploads.Uploads ?? []).toEqual([]);
      const objects = await client.send(new ListObjectsV2Command({ Bucket: "content", Prefix: "blocks/cars/" }));
      expect(objects.Contents?.length).toBe((await knownRoots()).length);
      client.destroy();
      for (const root of await knownRoots()) {
        const answer = await fetch(`${first.url}/ipfs/${root}?format=car`);
        expect([answer.status, (await answer.arrayBuffer()).byteLength > 10_000_000]).toEqual([200, true]);
      }
    },
    900_000 * slowness,
  );
});

/** Forty kilobytes that no other file has. */
function filler(seed: string, id: number): string {
  return `${seed} ${id} `.repeat(Math.ceil(40_960 / `${seed} ${id} `.length));
}
