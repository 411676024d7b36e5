import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { freePorts } from "../../src/free-port.ts";
import { bareEnvironment } from "./bare-environment.ts";
import { wait } from "./wait.ts";

const programs = ["swift-proxy-server", "swift-account-server", "swift-container-server", "swift-object-server"];

/** Whether this machine has OpenStack Swift (Debian: swift-proxy, swift-account, swift-container, swift-object). */
export const hasSwift = programs.every((program) => !spawnSync(program, ["--version"]).error);

/** Logins of the account `test`, as S3 credentials: one that may do everything, one that may do nothing. */
export const owner = { accessKeyId: "test:owner", secretAccessKey: "owner-secret" };
export const stranger = { accessKeyId: "test:stranger", secretAccessKey: "stranger-secret" };

const kinds = ["account", "container", "object"] as const;

/** An OpenStack Swift with its S3 interface: one proxy and one server of each kind, all files in a folder of its own. */
export class Swift {
  readonly url: string;
  readonly port: number;
  readonly #dir: string;
  readonly #children: ChildProcess[] = [];
  readonly #ports: number[];

  private constructor(dir: string, ports: number[]) {
    this.#dir = dir;
    this.#ports = ports;
    this.port = ports[0] ?? 0;
    this.url = `http://127.0.0.1:${this.port}`;
  }

  static async start(): Promise<Swift> {
    const dir = await mkdtemp(join(tmpdir(), "mintyard-swift-"));
    const swift = new Swift(dir, await freePorts(4));
    try {
      await swift.#configure();
      await swift.resume();
    } catch (error) {
      await swift.stop();
      throw error;
    }
    return swift;
  }

  /** Starts its processes again, with what they stored. */
  async resume(): Promise<void> {
    for (const name of ["account", "container", "object", "proxy"]) {
      const log = join(this.#dir, `${name}.log`);
      const command = `exec swift-${name}-server ${join(this.#dir, `${name}.conf`)} >>${log} 2>&1`;
      this.#children.push(spawn("sh", ["-c", command], { stdio: "ignore", env: bareEnvironment }));
    }
    const answers = async (port: number) =>
      await fetch(`http://127.0.0.1:${port}/healthcheck`).then(
        ({ ok }) => ok,
        () => false,
      );
    await wait("Swift", async () => {
      if (this.#children.some(({ exitCode }) => exitCode !== null)) throw new Error(`Swift ended: ${await this.log()}`);
      return (await Promise.all(this.#ports.map(answers))).every(Boolean);
    });
  }

  /** Its processes stand still, with all connections open, or go on. */
  freeze(still: boolean): void {
    for (const child of this.#children) child.kill(still ? "SIGSTOP" : "SIGCONT");
  }

  /** Ends its processes; what they stored stays. */
  async pause(): Promise<void> {
    await Promise.all(
      this.#children.splice(0).map(async (child) => {
        if (child.exitCode !== null || child.signalCode !== null) return;
        const ended = new Promise((done) => child.once("exit", done));
        child.kill("SIGKILL");
        await ended;
      }),
    );
  }

  async stop(): Promise<void> {
    await this.pause();
    await rm(this.#dir, { recursive: true, force: true });
  }

  /** A client of its own, which shares nothing with the service but the library. */
  client(credentials = owner): S3Client {
    return new S3Client({
      ...{ region: "us-east-1", endpoint: this.url, forcePathStyle: true, credentials },
      ...({ requestChecksumCalculation: "WHEN_REQUIRED", responseChecksumValidation: "WHEN_REQUIRED" } as const),
    });
  }

  /** Makes a bucket. @returns the settings of a service that keeps its blocks in it. */
  async settings(bucket: string, prefix = "blocks"): Promise<Record<string, string>> {
    const client = this.client();
    await client.send(new CreateBucketCommand({ Bucket: bucket }));
    client.destroy();
    return {
      IPFS_STORE: `s3://${bucket}/${prefix}`,
      AWS_ENDPOINT_URL_S3: this.url,
      AWS_ACCESS_KEY_ID: owner.accessKeyId,
      AWS_SECRET_ACCESS_KEY: owner.secretAccessKey,
    };
  }

  async log(): Promise<string> {
    const texts = ["account", "container", "object", "proxy"].map((name) =>
      readFile(join(this.#dir, `${name}.log`), "utf8").catch(() => ""),
    );
    return (await Promise.all(texts)).join("\n").slice(-20_000);
  }

  async #configure(): Promise<void> {
    const dir = this.#dir;
    await mkdir(join(dir, "devices", "d1"), { recursive: true });
    const [proxyPort, ...serverPorts] = this.#ports;
    await writeFile(
      join(dir, "swift.conf"),
      "[swift-hash]\nswift_hash_path_suffix = of-the-tests\n[storage-policy:0]\nname = one\ndefault = yes\n",
    );
    const configure = async (kind: (typeof kinds)[number], port: number) => {
      const builder = join(dir, `${kind}.builder`);
      const build = promisify(execFile);
      await build("swift-ring-builder", [builder, "create", "4", "1", "0"]);
      await build("swift-ring-builder", [builder, "add", `r1z1-127.0.0.1:${port}/d1`, "1"]);
      await build("swift-ring-builder", [builder, "rebalance"]);
      await writeFile(
        join(dir, `${kind}.conf`),
        `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${port}
workers = 0
swift_dir = ${dir}
devices = ${join(dir, "devices")}
mount_check = false
user = ${userInfo().username}
log_statsd_host =
fallocate_reserve = 0
[pipeline:main]
pipeline = healthcheck ${kind}-server
[filter:healthcheck]
use = egg:swift#healthcheck
[app:${kind}-server]
use = egg:swift#${kind}
allow_versions = true
`,
      );
    };
    await Promise.all(kinds.map((kind, index) => configure(kind, serverPorts[index] ?? 0)));
    await writeFile(
      join(dir, "proxy.conf"),
      `[DEFAULT]
bind_ip = 127.0.0.1
bind_port = ${proxyPort}
workers = 0
swift_dir = ${dir}
user = ${userInfo().username}
[pipeline:main]
pipeline = catch_errors healthcheck cache bulk s3api tempauth slo proxy-server
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:healthcheck]
use = egg:swift#healthcheck
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:1
[filter:bulk]
use = egg:swift#bulk
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
s3_acl = false
min_segment_size = 1048576
[filter:tempauth]
use = egg:swift#tempauth
user_test_owner = owner-secret .admin
user_test_stranger = stranger-secret
[filter:slo]
use = egg:swift#slo
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
`,
    );
  }
}
