import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");
export const rulesFile = join(root, "deploy/prometheus/alerts.yml");

export interface Alert {
  name: string;
  expr: string;
  for: string;
  severity: string;
  summary: string;
  runbook: string;
}

/** The rules, by the one shape that they are written in; `promtool check rules` says whether they are YAML. */
export function readAlerts(text: string = readFileSync(rulesFile, "utf8")): Alert[] {
  const shape =
    /- alert: (\w+)\n +expr: >-\n +(.+)\n +for: (\w+)\n +labels: \{ severity: (\w+) \}\n +annotations:\n +summary: "(.+)"\n +runbook_url: (\S+)\n/g;
  const alerts = [...text.matchAll(shape)].map(
    ([, name = "", expr = "", wait = "", severity = "", summary = "", runbook = ""]) => ({
      ...{ name, expr, for: wait, severity, summary, runbook },
    }),
  );
  const written = text.match(/- alert:/g)?.length ?? 0;
  if (written !== alerts.length)
    throw new Error(`${written} alerts are written, ${alerts.length} have the usual shape`);
  return alerts;
}

/** Queries of the Grafana board. */
export function boardQueries(): string[] {
  const board = JSON.parse(readFileSync(join(root, "deploy/grafana/mintyard.json"), "utf8")) as {
    panels: { targets: { expr: string }[] }[];
  };
  return board.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
}

export function runbooks(): { name: string; text: string }[] {
  return readdirSync(join(root, "docs/runbooks"))
    .filter((file) => /^Mintyard\w+\.md$/.test(file))
    .map((file) => ({ name: file.slice(0, -3), text: readFileSync(join(root, "docs/runbooks", file), "utf8") }));
}

/** Metrics and labels that a query asks for. */
export function askedBy(query: string): { names: string[]; labels: string[] } {
  const names = query.match(/\b(?:mintyard|process|nodejs)_\w+/g) ?? [];
  const grouped = [...query.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => (list ?? "").split(/,\s*/));
  const matched = [...query.matchAll(/(\w+)(?:=~|!~|!=|=)"/g)].map(([, label]) => label ?? "");
  return { names: [...new Set(names)], labels: [...new Set([...grouped, ...matched])] };
}
