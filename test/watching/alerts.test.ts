import { execFileSync, spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { type AlertCase, alertCases } from "./alert-cases.ts";
import { readAlerts, root, rulesFile, runbooks } from "./rules.ts";

const alerts = readAlerts();
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
const needs = hasPromtool ? "" : " (skipped: promtool of Debian's package prometheus is not there)";

test("each alert has a page that says what it means, how to check it and what cures it, and each page an alert", () => {
  expect(alerts.length).toBeGreaterThan(30);
  const names = alerts.map(({ name }) => name).sort();
  expect(new Set(names).size).toBe(names.length);
  const pages = runbooks();
  expect(pages.map(({ name }) => name).sort()).toEqual(names);
  for (const { name, runbook } of alerts) expect(runbook).toBe(`docs/runbooks/${name}.md`);
  for (const { name, text } of pages) {
    expect(text.startsWith(`# ${name}\n`), name).toBe(true);
    const parts = text.split(/^## /m).slice(1);
    expect(
      parts.map((part) => part.split("\n")[0]),
      name,
    ).toEqual(["Meaning", "Check", "Cure"]);
    for (const part of parts) expect(part.length, `${name}: ${part.slice(0, 10)}`).toBeGreaterThan(40);
    expect(parts[1], `${name} has a command to check it`).toMatch(/```sh\n/);
  }
});

test("each alert has series by which it fires and series by which it does not", () => {
  expect(Object.keys(alertCases).sort()).toEqual(alerts.map(({ name }) => name).sort());
});

describe.skipIf(!hasPromtool)(`promtool${needs}`, () => {
  test("accepts the rules and the example of a configuration", () => {
    for (const [what, file] of [
      ["rules", rulesFile],
      ["config", join(root, "deploy/prometheus/prometheus.yml")],
    ] as const)
      expect(execFileSync("promtool", ["check", what, file], { encoding: "utf8" })).toContain("SUCCESS");
  });

  test("each alert fires by its fault's series, once, and is silent by those of a healthy service", () => {
    const dir = temporaryFolder();
    const file = join(dir, "cases.json");
    const tests = (["firing", "healthy"] as const).flatMap((kind) =>
      inGroups(kind).map((cases) => asTest(cases, kind)),
    );
    // JSON is YAML.
    writeFileSync(file, JSON.stringify({ rule_files: [rulesFile], evaluation_interval: "1m", tests }));
    const { status, stdout, stderr } = spawnSync("promtool", ["test", "rules", file], { encoding: "utf8" });
    expect([status, stdout, stderr]).toEqual([0, expect.stringContaining("SUCCESS"), ""]);
  });
});

/** Cases together in which no series has two values: one test of promtool's evaluates all rules, whatever it looks at. */
function inGroups(kind: "firing" | "healthy"): [string, AlertCase][][] {
  const groups: { cases: [string, AlertCase][]; series: Set<string> }[] = [];
  for (const [name, one] of Object.entries(alertCases)) {
    const series = Object.keys(one[kind]);
    // What fires by the absence of a series has a group of its own.
    const fits = groups.find((group) => name !== "MintyardNotWatched" && series.every((key) => !group.series.has(key)));
    if (fits) {
      fits.cases.push([name, one]);
      for (const key of series) fits.series.add(key);
    } else
      groups.push({
        cases: [[name, one]],
        series: new Set([...series, ...(name === "MintyardNotWatched" ? ["up"] : [])]),
      });
  }
  return groups.map(({ cases }) => cases);
}

function asTest(cases: readonly [string, AlertCase][], kind: "firing" | "healthy") {
  return {
    interval: "1m",
    input_series: cases.flatMap(([, one]) => Object.entries(one[kind])).map(([series, values]) => ({ series, values })),
    promql_expr_test: cases.map(([name, one]) => ({
      expr: `count(ALERTS{alertname="${name}",alertstate="firing"})`,
      eval_time: `${one.minutes ?? 20}m`,
      exp_samples: kind === "firing" ? [{ labels: "{}", value: 1 }] : [],
    })),
  };
}
