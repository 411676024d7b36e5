import type { Fault } from "../../test/zoo/fault.ts";
import type { Outcome } from "../../test/zoo/outcome.ts";

/** One fault, and each contestant's outcome; null: it was not tried. */
export interface Row {
  fault: Fault;
  ours: Record<string, Outcome | null>;
  viem: Outcome | null;
  ponder: Outcome | null;
}

/** `deployViem`'s note that a transaction was mined despite the error. */
const anyway = / \(\d+ was mined all the same\)/;
const words = { right: "right", wrong: "**wrong (silently)**", error: "error", never: "**never (60 s)**" };

/** The whole of docs/measurements/providers.md. */
export function page(rows: readonly Row[]): string {
  const reads = sorted(rows.filter(({ fault }) => fault.kind === "read"));
  const writes = sorted(rows.filter(({ fault }) => fault.kind === "write"));
  const unmet = [...reads, ...writes].flatMap(({ fault }) => (fault.unmet ? [`- ${fault.name}: ${fault.unmet}.`] : []));
  return `${head(reads, writes)}
${unmet.length > 0 ? `## Not yet as it should be\n\n${unmet.join("\n")}\n\n` : ""}## Reads

Of an error the first words are given. "named": nothing was answered, no endpoint had an answer, and the log says why.

| fault | reported in | this service, \`proofs\` | \`logs\` | viem | Ponder |
|---|---|---|---|---|---|
${reads.map(readLine).join("\n")}

## Writes

"right" is one contract and its receipt; here "named" is a refusal before anything was sent.

| fault | reported in | this service | viem |
|---|---|---|---|
${writes.map(writeLine).join("\n")}
`;
}

const sorted = (rows: readonly Row[]) => rows.toSorted((a, b) => a.fault.name.localeCompare(b.fault.name, "en"));

function head(reads: readonly Row[], writes: readonly Row[]): string {
  const count = (outcomes: readonly (Outcome | null | undefined)[], named = 0) => {
    const of = (end: Outcome["end"]) => outcomes.filter((one) => one?.end === end).length;
    return `${of("right")} | ${named} | ${of("wrong") - named} | ${of("error")} | ${of("never")}`;
  };
  const sampled = reads.filter((row) => isSampled(row)).length;
  const alone = [...reads, ...writes].filter(({ fault }) => fault.alone).length;
  const unmet = [...reads, ...writes].some(({ fault }) => fault.unmet);
  const mined = writes.filter(({ viem }) => viem?.end === "error" && anyway.test(viem.words)).length;
  return `# Faults of providers

How to repeat: \`npm run -s mintyard -- dev bench providers --write\` writes this page. Each fault is one file of
\`test/zoo/faults/\`, with where it was reported and what the endpoint then says; \`test/zoo/zoo.long.test.ts\` holds what this
service makes of it.

A local server stands in front of a real node and plays one fault at a time. Of two endpoints the faulty one is configured first and
a healthy one second; with ${alone} faults there is no other endpoint. Each contestant has a minute.

- This service: the gateway of the index, asked by Ponder over HTTP, once with each \`VERIFY_<CHAIN>\` that the fault concerns; for writes
  a deployment through the relay, asked again by its client until it is answered.
- viem: a public client's \`getLogs\`, or a wallet client that sends one deployment and waits for its receipt, over \`fallback\` of
  two \`http\` transports, all with their defaults.
- Ponder: its own RPC layer with both URLs, and what its backfill does with ranges that are too wide and with answers that contradict one another.

## What it means for an operator

- Name two endpoints of different providers. What one of them says of itself (a rate, a quota, a key, a breakdown) then costs time and
  nothing else.
- A list of logs that is cut short is believed with \`VERIFY_<CHAIN>=logs\`, by viem and by Ponder: nothing in it shows it. Only \`proofs\`
  notices at once. With \`logs\` the sample of final blocks finds it later, and \`/status\` says what to run (\`index_incomplete\`). An empty
  list is believed by viem and by Ponder; here a second endpoint has to say the same.
  A node that lags is another matter: it is asked how far it is.
- With one endpoint alone, wide ranges are halved in whatever words the provider refuses them, and what only you can mend (a quota, a
  key, a wrong URL) is named in the log.
- An error for a transaction says nothing about whether it was mined: with ${mined} of these faults viem gives an error for one that was. A program that
  makes a new one then has two; the relay sends the same bytes again.
- Of a URL of another chain you hear at the start, from this service alone.

## Last results

One run on two cores that other work shared. Ponder repeats a question for 64 seconds before its process ends with the error, which counts
as never here.

| contestant | right | wrong, then named | wrong (silently) | error | never |
|---|---|---|---|---|---|
| this service, reads, \`proofs\` | ${count(reads.map(({ ours }) => ours["proofs"]))} |
| this service, reads, \`logs\` | ${count(
    reads.map(({ ours }) => ours["logs"]),
    sampled,
  )} |
| viem, reads | ${count(reads.map(({ viem }) => viem))} |
| Ponder, reads | ${count(reads.map(({ ponder }) => ponder))} |
| this service, writes | ${count(writes.map(({ ours }) => ours["one"]))} |
| viem, writes | ${count(writes.map(({ viem }) => viem))} |

An error of this service has a named cause${unmet ? ", but for those of the next section" : ""}.
`;
}

/** test/zoo/zoo.long.test.ts gets the same wrong list, and there the sample of final blocks detects what is missing. */
function isSampled({ fault, ours }: Row): boolean {
  return fault.kind === "read" && fault.ends.logs === "sampled" && ours["logs"]?.end === "wrong";
}

function readLine(row: Row): string {
  const { fault, ours, viem, ponder } = row;
  const ends = fault.kind === "read" ? fault.ends : {};
  const own = (mode: "proofs" | "logs") =>
    cell(ours[mode] ?? null, ends[mode] instanceof RegExp ? ends[mode] : undefined);
  const logs = isSampled(row) ? own("logs").replace(words.wrong, "wrong, then named") : own("logs");
  return line([named(fault), source(fault), own("proofs"), logs, cell(viem), cell(ponder)]);
}

function writeLine({ fault, ours, viem }: Row): string {
  const cause = fault.kind === "write" && fault.end instanceof RegExp ? fault.end : undefined;
  return line([named(fault), source(fault), cell(ours["one"] ?? null, cause), cell(viem)]);
}

const line = (cells: readonly string[]) => `| ${cells.map((one) => one.replaceAll("|", "\\|")).join(" | ")} |`;

function named({ name, alone }: Fault): string {
  return alone && !name.includes("no other endpoint") ? `${name} (alone)` : name;
}

function source({ source: from }: Fault): string {
  if (from.startsWith("https:")) return `[${new URL(from).hostname}](${from})`;
  const [repository, number] = from.split("#");
  return `[${from}](https://github.com/${repository}/issues/${number})`;
}

/** @param cause pattern of the log text when nothing is answered. */
function cell(outcome: Outcome | null, cause?: unknown): string {
  if (!outcome) return "";
  if (outcome.end === "wrong") return `${words.wrong}: ${outcome.what}`;
  if (outcome.end !== "error") return words[outcome.end];
  const said = outcome.words.replaceAll(/[<>`*"]/g, " ").replaceAll(/\s+/g, " ");
  // Hashes and ports differ from run to run.
  const steady = said.replaceAll(/0x[0-9a-f]{16,}/gi, "0x…").replaceAll(/127\.0\.0\.1:\d+/g, "the endpoint");
  const from = cause instanceof RegExp ? Math.max(0, steady.search(new RegExp(cause.source.split(".*")[0] ?? ""))) : 0;
  const short = steady
    .slice(from, from + 110)
    .replace(anyway, "")
    .trim();
  return `${cause ? "named" : words.error}: ${short}${steady.length > from + 110 ? "…" : ""}${anyway.exec(steady)?.[0] ?? ""}`;
}
