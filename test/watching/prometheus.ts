import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { wait } from "../setup/wait.ts";
import { rulesFile } from "./rules.ts";

export const hasPrometheus = spawnSync("prometheus", ["--version"]).status === 0;

/** A file of targets that Prometheus reads again when it changes. */
const later = (dir: string) => join(dir, "later.json");

/** A real Prometheus that reads the rules as they are, but for the time that an alert waits. */
export class Prometheus {
  readonly #child: ChildProcess;
  readonly #url: string;

  readonly #dir: string;

  private constructor(child: ChildProcess, url: string, dir: string) {
    this.#child = child;
    this.#url = url;
    this.#dir = dir;
  }

  /** @param jobs targets (`host:port`) by job; `watch` adds others. */
  static async start(dir: string, port: number, jobs: Record<string, string[]>): Promise<Prometheus> {
    const rules = readFileSync(rulesFile, "utf8").replaceAll(/^( +for: )\w+$/gm, "$10s");
    writeFileSync(join(dir, "alerts.yml"), rules);
    const config = {
      // Each scrape is work for the service and for its database.
      global: { scrape_interval: "3s", scrape_timeout: "3s", evaluation_interval: "1s" },
      rule_files: ["alerts.yml"],
      scrape_configs: [
        ...Object.entries(jobs).map(([job_name, targets]) => ({ job_name, static_configs: [{ targets }] })),
        { job_name: "mintyard-later", file_sd_configs: [{ files: [later(dir)], refresh_interval: "1s" }] },
      ],
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
    const prometheus = new Prometheus(child, `http://${listen}`, dir);
    const isReady = () =>
      fetch(`http://${listen}/-/ready`).then(
        ({ ok }) => ok,
        () => false,
      );
    await wait("the start of Prometheus", isReady);
    return prometheus;
  }

  /** Reads the metrics of one more process. */
  watch(target: string): void {
    writeFileSync(later(this.#dir), JSON.stringify([{ targets: [target] }]));
  }

  /** Waits until a query has this answer, by the newest scrape. */
  async untilValue(query: string, value: string): Promise<void> {
    const look = async () => {
      const answer = await fetch(`${this.#url}/api/v1/query?query=${encodeURIComponent(query)}`);
      const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
      return data.result.map((one) => one.value[1]);
    };
    await wait(`${query} is ${value}`, look, { until: (values) => values.includes(value) });
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
