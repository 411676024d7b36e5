import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "../../src/free-port.ts";
import { wait } from "./wait.ts";

const template = readFileSync(join(import.meta.dirname, "../../deploy/nginx.conf.template"), "utf8");

/** The version of the nginx of this machine; null where there is none. */
export const nginxVersion = (() => {
  const { stderr, error } = spawnSync("nginx", ["-v"], { encoding: "utf8" });
  return error ? null : (/nginx\/([\d.]+)/.exec(stderr)?.[1] ?? null);
})();

interface Values {
  API_SERVERS: string;
  PROXY_LISTEN: string;
  PROXY_TLS: string;
}

/** Puts the values in as envsubst does, which leaves variables of nginx as they are. */
export function renderTemplate(values: Values): string {
  return template.replaceAll(/\$\{([A-Z_]+)\}/g, (all, name: string) => values[name as keyof Values] ?? all);
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  const open = await new Promise<boolean>((done) => {
    socket.once("connect", () => done(true)).once("error", () => done(false));
  });
  socket.destroy();
  return open;
}

/** An nginx of this machine with the template of deploy/ in it, and all its files in a folder of its own. */
export class Nginx {
  readonly url: string;
  readonly dir: string;
  readonly #child: ChildProcess;

  private constructor(url: string, dir: string, child: ChildProcess) {
    this.url = url;
    this.dir = dir;
    this.#child = child;
  }

  /** @param tls makes a certificate of its own and listens with it. */
  static async start(ports: readonly number[], { tls = false } = {}): Promise<Nginx> {
    const dir = await mkdtemp(join(tmpdir(), "mintyard-nginx-"));
    const [port = 0] = await freePorts(1);
    const servers = ports.map((api) => `server 127.0.0.1:${api} max_fails=0;`).join(" ");
    const certificate = tls ? makeCertificate(dir) : "";
    const configuration = await writeConfiguration(dir, {
      API_SERVERS: servers,
      PROXY_LISTEN: `127.0.0.1:${port}${tls ? " ssl http2" : ""}`,
      PROXY_TLS: certificate,
    });
    const child = spawn("nginx", ["-p", dir, "-c", configuration], { stdio: "ignore" });
    const nginx = new Nginx(`${tls ? "https" : "http"}://127.0.0.1:${port}`, dir, child);
    await wait("nginx", async () => child.exitCode !== null || (await listens(port)));
    if (child.exitCode !== null) throw new Error(`nginx ended: ${await nginx.errors()}`);
    return nginx;
  }

  async log(): Promise<string> {
    return await readFile(join(this.dir, "access.log"), "utf8");
  }

  async errors(): Promise<string> {
    return await readFile(join(this.dir, "error.log"), "utf8").catch(() => "");
  }

  async stop(): Promise<void> {
    const ended = new Promise((done) => this.#child.once("exit", done));
    if (this.#child.exitCode === null && this.#child.kill("SIGTERM")) await ended;
    await rm(this.dir, { recursive: true, force: true });
  }
}

/** Around the template what Debian's /etc/nginx/nginx.conf has around it. @returns the file's path. */
export async function writeConfiguration(dir: string, values: Values): Promise<string> {
  const path = join(dir, "nginx.conf");
  const own = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  await writeFile(
    path,
    `daemon off; master_process off; pid ${dir}/pid; error_log ${dir}/error.log;
events { worker_connections 1024; }
http {
${own.map((name) => `${name}_temp_path ${dir}/${name};`).join("\n")}
${renderTemplate(values).replace("/var/log/nginx", dir)}
}
`,
  );
  return path;
}

/** @returns what the template takes as PROXY_TLS. */
export function makeCertificate(dir: string): string {
  const [key, certificate] = [join(dir, "key.pem"), join(dir, "certificate.pem")];
  execFileSync(
    "openssl",
    [
      ...["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"],
      ...["-keyout", key, "-out", certificate],
    ],
    { stdio: "ignore" },
  );
  return `ssl_certificate ${certificate}; ssl_certificate_key ${key};`;
}
