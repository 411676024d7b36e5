import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wait } from "../setup/wait.ts";
import { rulesFile } from "./rules.ts";

export const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;

/** A real Prometheus that reads the rules as they are, but for the time that an alert waits. */
export class Prometheus {
  readonly #child: ChildProcess;
  readonly #url: string;

  private constructor(child: ChildProcess, url: string) {
    this.#child = child;
    this.#url = url;
  }

  /** @param jobs targets (`host:port`) by job. */
  static async start(dir: string, port: number, jobs: Record<string, string[]>): Promise<Prometheus> {
    const rules = readFileSync(rulesFile, "utf8").replaceAll(/^( +for: )\w+$/gm, "$10s");
    writeFileSync(join(dir, "alerts.yml"), rules);
    const config = {
      global: { scrape_interval: "1s", scrape_timeout: "1s", evaluation_interval: "1s" },
      rule_files: ["alerts.yml"],
      scrape_configs: Object.entries(jobs).map(([job_name, targets]) => ({ job_name, static_configs: [{ targets }] })),
    };
    // JSON is YAML.
    writeFileSync(join(dir, "prometheus.yml"), JSON.stringify(config));
    const listen = `127.0.0.1:${port}`;
    const child = spawn(
      "prometheus",
      [
        ...[`--config.file=${join(dir, "prometheus.yml")}`, `--storage.tsdb.path=${join(dir, "tsdb")}`],
        ...[`--web.listen-address=${listen}`, "--log.level=error"],
      ],
      { stdio: "ignore" },
    );
    const prometheus = new Prometheus(child, `http://${listen}`);
    const isReady = () =>
      fetch(`http://${listen}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await wait("the start of Prometheus", isReady);
    return prometheus;
  }

  /** Alerts that fire now. */
  async firing(): Promise<string[]> {
    const answer = await fetch(`${this.#url}/api/v1/alerts`);
    const { data } = (await answer.json()) as { data: { alerts: { labels: Record<string, string>; state: string }[] } };
    const names = data.alerts.filter(({ state }) => state === "firing").map(({ labels }) => labels["alertname"] ?? "");
    return [...new Set(names)].sort();
  }

  /** Waits until all of these fire. */
  async until(...names: string[]): Promise<void> {
    const until = (now: string[]) => names.every((name) => now.includes(name));
    await wait(`alerts ${names.join(", ")}`, () => this.firing(), { until });
  }

  /** Waits until none fires. */
  async untilSilent(): Promise<void> {
    await wait("no alert", () => this.firing(), { until: (now) => now.length === 0 });
  }

  async stop(): Promise<void> {
    const ended = new Promise((done) => this.#child.once("exit", done));
    this.#child.kill("SIGTERM");
    await ended;
  }
}
