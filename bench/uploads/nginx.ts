import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { freePorts } from "../../src/free-port.ts";

/**
 * nginx with one worker, because our API is one process, serving a folder with sendfile and without a log.
 *
 * @returns null if nginx is not installed.
 */
export async function startNginx(dir: string, files: Record<string, Buffer>) {
  if (!isInstalled()) return null;
  const [port = 0] = await freePorts(1);
  const root = join(dir, "nginx");
  await mkdir(join(root, "www"), { recursive: true });
  for (const [name, bytes] of Object.entries(files)) await writeFile(join(root, "www", name), bytes);
  const configuration = `daemon off; master_process off; worker_processes 1; pid ${root}/pid; error_log ${root}/error.log;
events { worker_connections 1024; }
http { access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;
  client_body_temp_path ${root}/b; proxy_temp_path ${root}/p; fastcgi_temp_path ${root}/f; uwsgi_temp_path ${root}/u;
  scgi_temp_path ${root}/s;
  server { listen 127.0.0.1:${port}; root ${root}/www; } }`;
  await writeFile(join(root, "nginx.conf"), configuration);
  const child: ChildProcess = spawn("nginx", ["-p", root, "-c", join(root, "nginx.conf")], { stdio: "ignore" });
  const url = `http://127.0.0.1:${port}`;
  for (let tries = 0; !(await fetch(url).catch(() => null)); tries += 1) {
    if (tries > 100) throw new Error("nginx does not answer");
    await sleep(50);
  }
  return { url, stop: () => void child.kill("SIGTERM") };
}

function isInstalled(): boolean {
  try {
    execFileSync("nginx", ["-v"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
