import { type ChildProcess, execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePorts } from "../../src/free-port.ts";
import { hasSwift } from "../setup/swift.ts";
import { slowness, wait } from "../setup/wait.ts";
import type { BackupBucket } from "./backup-bucket.ts";

const root = join(import.meta.dirname, "../..");
const page = readFileSync(join(root, "docs/cluster.md"), "utf8");
const example = readFileSync(join(root, "deploy/cluster/cluster.env.example"), "utf8");
const binaries = /^POSTGRES_BIN=(.*)$/m.exec(example)?.[1] ?? "";

/** What a cluster needs and this machine has not. */
export const missingPrograms = [
  ...["patroni", "patronictl", "etcd", "haproxy", "pgbackrest", "envsubst", "psql"].filter(
    (name) => spawnSync("sh", ["-c", `command -v ${name}`], { stdio: "ignore" }).status !== 0,
  ),
  ...(existsSync(join(binaries, "postgres")) ? [] : [join(binaries, "postgres")]),
  ...(hasSwift ? [] : ["swift-proxy-server"]),
];

/**
 * A command of docs/cluster.md, to be run word for word.
 *
 * @param holds a part of it that no other command has.
 */
export function pageCommand(holds: string): string {
  const blocks = [...page.matchAll(/^( *)```sh\n([\s\S]*?)^ *```$/gm)].map(([, , text = ""]) => text);
  const found = blocks.filter((text) => text.includes(holds));
  if (found.length !== 1) throw new Error(`docs/cluster.md has ${found.length} commands with: ${holds}`);
  return (found[0] ?? "").trim();
}

/** PostgreSQL refuses to run as root: then it is Debian's user for it, as on the page. */
const login = userInfo().uid === 0 ? { uid: idOf("-u"), gid: idOf("-g") } : {};

function idOf(flag: "-u" | "-g"): number {
  return Number(spawnSync("id", [flag, "postgres"], { encoding: "utf8" }).stdout) || 65_534;
}

export interface Member {
  name: string;
  role: "leader" | "sync_standby" | "replica";
  state: string;
}

/** One database host: a folder, and an address of this machine that stands for a machine. */
export class DatabaseHost {
  readonly name: string;
  readonly #dir: string;
  readonly #data: string;
  #etcd: ChildProcess | null = null;
  #patroni: ChildProcess | null = null;
  /** What Patroni and its PostgreSQL wrote, the last part of it. */
  output = "";

  constructor(name: string, dir: string, data: string) {
    this.name = name;
    this.#dir = dir;
    this.#data = data;
  }

  get postgres(): number {
    return Number(readFileSync(join(this.#data, "postmaster.pid"), "utf8").split("\n")[0]);
  }

  /** Runs a command of the page there. @param more is said to it by the environment. */
  async run(command: string, more: Record<string, string> = {}): Promise<string> {
    // Not synchronously: the clients are in this process.
    const { stdout } = await promisify(execFile)("bash", ["--norc", "-euc", command], {
      ...{ cwd: this.#dir, timeout: 60_000 * slowness, ...login },
      env: { PATH: path, HOME: this.#dir, ...more },
    });
    return stdout;
  }

  startEtcd(): void {
    this.#etcd = this.#start(pageCommand("etcd --config-file"));
  }

  startPatroni(): void {
    this.#patroni = this.#start(pageCommand("patroni patroni.yml"));
  }

  /** As the page says; what Patroni wants of etcd is that it is there first. */
  start(): void {
    if (this.#etcd === null || hasEnded(this.#etcd)) this.startEtcd();
    if (this.#patroni === null || hasEnded(this.#patroni)) this.startPatroni();
  }

  killPostgres(): void {
    process.kill(this.postgres, "SIGKILL");
  }

  /** The power goes. */
  async killAll(): Promise<void> {
    const ends = [this.#patroni, this.#etcd].map(async (child) => {
      if (child === null || hasEnded(child)) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    });
    if (existsSync(join(this.#data, "postmaster.pid"))) kill(this.postgres);
    await Promise.all(ends);
  }

  /** Patroni ends, and PostgreSQL with it. */
  async end(): Promise<void> {
    if (this.#patroni === null || hasEnded(this.#patroni)) return;
    this.#patroni.kill("SIGTERM");
    await once(this.#patroni, "exit");
  }

  /** The other hosts hear nothing of it any more, while its PostgreSQL goes on and takes what comes. */
  cutOff(): void {
    for (const child of [this.#patroni, this.#etcd]) child?.kill("SIGSTOP");
  }

  reconnect(): void {
    for (const child of [this.#patroni, this.#etcd]) child?.kill("SIGCONT");
  }

  #start(command: string): ChildProcess {
    const child = spawn("bash", ["--norc", "-euc", `exec ${command}`], {
      ...{ cwd: this.#dir, stdio: ["ignore", "pipe", "pipe"], ...login },
      env: { PATH: path, HOME: this.#dir },
    });
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => {
        this.output = (this.output + chunk.toString("utf8")).slice(-100_000);
      });
    return child;
  }
}

const path = `${process.env["PATH"]}:/usr/sbin:/usr/bin`;

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It is gone.
  }
}

/** Three database hosts and the HAProxy of a service host, from deploy/cluster by the commands of docs/cluster.md. */
export class Cluster {
  readonly hosts: readonly DatabaseHost[];
  readonly ports: { postgres: number; patroni: number; primary: number; replicas: readonly number[] };
  #haproxy: ChildProcess | null = null;
  readonly #password: string;

  private constructor(hosts: readonly DatabaseHost[], ports: Cluster["ports"], password: string) {
    this.hosts = hosts;
    this.ports = ports;
    this.#password = password;
  }

  /** @param dir an empty folder. @param bucket for backups. */
  static async start(dir: string, bucket: BackupBucket): Promise<Cluster> {
    const [postgres = 0, patroni = 0, etcd = 0, peer = 0, primary = 0, first = 0, second = 0] = await freePorts(7);
    const shared = {
      ...{ DB_1: "127.0.0.1", DB_2: "127.0.0.2", DB_3: "127.0.0.3", SERVICE_NETWORK: "127.0.0.0/8" },
      ...{ POSTGRES_PASSWORD: "of-postgres", REPLICATION_PASSWORD: "of-standbys", PATRONI_PASSWORD: "of-patroni" },
      ...{ SHARED_BUFFERS: "64MB", MAX_CONNECTIONS: "150" },
      ...{ ...bucket.values, BACKUP_PASSPHRASE: "of-backups" },
      ...{ POSTGRES_PORT: postgres, PATRONI_PORT: patroni, ETCD_PORT: etcd, ETCD_PEER_PORT: peer },
      ...{ PRIMARY_PORT: primary, REPLICA_1_PORT: first, REPLICA_2_PORT: second },
    };
    const hosts: DatabaseHost[] = [];
    for (const number of [1, 2, 3]) {
      const [name, own] = [`db${number}`, join(dir, `db${number}`)];
      const socket = join(own, "socket");
      await mkdir(socket, { recursive: true });
      await symlink(join(root, "deploy"), join(own, "deploy"));
      const data = join(own, "postgres");
      const values = { NAME: name, HOST: `127.0.0.${number}`, POSTGRES_DATA: data, ETCD_DATA: join(own, "etcd") };
      const backup = { POSTGRES_SOCKET: socket, PGBACKREST_CONFIG: join(own, "pgbackrest.conf") };
      await writeFile(join(own, "cluster.env"), settings({ ...shared, ...values, ...backup }));
      if ("uid" in login) execFileSync("chown", ["-R", `${login.uid}:${login.gid}`, own]);
      hosts.push(new DatabaseHost(name, own, data));
    }
    const cluster = new Cluster(hosts, { postgres, patroni, primary, replicas: [first, second] }, "of-the-service");
    const more = Object.entries(bucket.settings).map(([name, value]) => `${name}=${value}`);
    for (const host of hosts) {
      await host.run(pageCommand("for file in etcd.yml"));
      await host.run(`printf '%s\\n' ${more.join(" ")} >> pgbackrest.conf`);
    }
    for (const host of hosts) host.startEtcd();
    for (const host of hosts) host.startPatroni();
    await cluster.untilWhole();
    await cluster.#untilListed();
    const leader = await cluster.leader();
    await leader.run(pageCommand("roles.sql"), { SERVICE_PASSWORD: cluster.#password });
    await leader.run(pageCommand("pgbackrest stanza-create"));
    const [make = "", ...run] = pageCommand("haproxy -f").split(/\n(?=haproxy)/);
    await hosts[0]?.run(make);
    cluster.#haproxy = spawn("bash", ["--norc", "-euc", `exec ${run.join("\n")}`], {
      ...{ cwd: join(dir, "db1"), stdio: "ignore" },
      env: { PATH: path },
    });
    return cluster;
  }

  /** The service's settings, as the page has them. */
  environment(): Record<string, string> {
    const lines = pageCommand("DATABASE_REPLICA_URLS")
      .replaceAll("PASSWORD@", `${this.#password}@`)
      .replaceAll("6432", String(this.ports.primary))
      .replaceAll("6433", String(this.ports.replicas[0]))
      .replaceAll("6434", String(this.ports.replicas[1]));
    return Object.fromEntries([...lines.matchAll(/^(\w+)=(.*)$/gm)].map(([, name, value]) => [name, value ?? ""]));
  }

  /** A login of the service at one host, past HAProxy. */
  urlOf(host: DatabaseHost): string {
    const address = `127.0.0.${this.hosts.indexOf(host) + 1}`;
    return `postgres://mintyard:${this.#password}@${address}:${this.ports.postgres}/mintyard`;
  }

  /** What the first host that answers knows of all; [] while none does. By HTTP: patronictl takes a second of the processor. */
  async members(): Promise<Member[]> {
    for (const [index] of this.hosts.entries())
      try {
        const url = `http://127.0.0.${index + 1}:${this.ports.patroni}/cluster`;
        const answer = await fetch(url, { signal: AbortSignal.timeout(2_000 * slowness) });
        return ((await answer.json()) as { members: Member[] }).members;
      } catch {
        // It is the one that was killed or cut off.
      }
    return [];
  }

  async leader(): Promise<DatabaseHost> {
    return await wait("a leader", async () => {
      const name = (await this.members()).find(({ role }) => role === "leader")?.name;
      return this.hosts.find((host) => host.name === name) ?? null;
    }).then((host) => host as DatabaseHost);
  }

  /** Until each host is there and has its role. */
  async untilWhole(): Promise<void> {
    const look = () => this.members();
    const good = (members: Member[]) =>
      String(members.map(({ role }) => role).sort()) === "leader,replica,sync_standby" &&
      members.every(({ state }) => state === "running" || state === "streaming");
    await wait("three running members", look, { until: good, lines: () => this.lines() });
  }

  /** Until the page's step 4 shows what it should. */
  async #untilListed(): Promise<void> {
    const list = `${pageCommand("patronictl -c patroni.yml list")} --format json`;
    const look = async () => JSON.parse((await this.hosts[0]?.run(list)) ?? "[]") as { Role: string }[];
    const good = (members: { Role: string }[]) =>
      String(members.map(({ Role }) => Role).sort()) === "Leader,Replica,Sync Standby";
    await wait("three listed members", look, { until: good, lines: () => this.lines() });
  }

  lines(): string[] {
    return this.hosts.flatMap((host) =>
      host.output
        .split("\n")
        .slice(-14)
        .map((line) => `${host.name} ${line}`),
    );
  }

  async stop(): Promise<void> {
    this.#haproxy?.kill("SIGKILL");
    for (const host of this.hosts) host.reconnect();
    for (const host of this.hosts) await host.killAll();
  }
}

/** The example with the values of one host; a value that it does not have is a mistake. */
function settings(values: Record<string, string | number>): string {
  return Object.entries(values).reduce((text, [name, value]) => {
    if (!new RegExp(`^${name}=`, "m").test(text)) throw new Error(`cluster.env.example has no ${name}`);
    return text.replace(new RegExp(`^${name}=.*$`, "m"), `${name}=${value}`);
  }, example);
}
