import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { anchorOf, type Example } from "../../src/reference/example.ts";
import { tasks } from "../../src/reference/tasks.ts";
import { faultsOfAnswer } from "../setup/openapi-check.ts";
import { type RunningStack, startStackProcess } from "../setup/stack.ts";
import { temporaryFolder } from "../setup/temporary-folder.ts";
import { slowness } from "../setup/wait.ts";
import { checkTypes, makeReaderProject } from "./packed-client.ts";
import { fill, type PrintedSnippet, printedExamples } from "./printed.ts";
import { firstEvent, ProgramHost, runProgram, type Surroundings } from "./run-snippet.ts";
import { ReaderWorld, type Values } from "./world.ts";

// Every example as the page prints it, with the values of a reader in it: commands in a shell, programs with the packed client.
const folder = join(temporaryFolder(), "reader");
const examples = tasks.flatMap((task) => task.examples);
let stack: RunningStack;
let world: ReaderWorld;
let programs: ProgramHost;
let printed: Map<string, PrintedSnippet[]>;

beforeAll(async () => {
  makeReaderProject(folder);
  programs = new ProgramHost(folder, "print-json.mjs");
  // An endpoint of a webhook on this machine.
  stack = await startStackProcess({ env: { WEBHOOKS_ALLOW_PRIVATE: "true" } });
  world = await ReaderWorld.furnish(stack, folder);
  printed = printedExamples(await (await fetch(`${world.values.url}/docs`)).text());
});
afterAll(async () => {
  programs?.kill();
  await world?.end();
  await stack?.remove();
});

const isStream = ({ rest, graphql }: Example) => rest === "get /v1/events" || graphql?.startsWith("subscription");
const isSilent = ({ graphql = "" }: Example) => /^subscription (events|transfers)$/.test(graphql);
const fileOf = (example: Example) => `${anchorOf(example)}.ts`;

/** An answer of REST, by the OpenAPI document; a body without a status of its own is one of 200. */
function expectRest({ rest = "" }: Example, body: unknown): void {
  const [method = "", path = ""] = rest.split(" ");
  expect(body).not.toMatchObject({ response: "NOK" });
  expect(faultsOfAnswer(method.toUpperCase(), path, 200, body)).toEqual([]);
}

/** An answer of GraphQL: without errors, and with something in its root field. */
function expectGraphql({ graphql = "" }: Example, body: unknown): void {
  const { data, errors } = body as { data: Record<string, unknown>; errors?: unknown };
  expect(errors).toBeUndefined();
  const field = data[graphql.split(" ")[1] ?? ""];
  expect(field).not.toBeNull();
  expect(field).toBeDefined();
  const userErrors = JSON.stringify(field).match(/"userErrors":\[[^\]]+\]/);
  expect(userErrors?.[0]).toBeUndefined();
}

const isUnsigned = (text: string) => text.includes("no worker has signed it yet");

async function runCurl(example: Example, command: string, around: Surroundings): Promise<unknown> {
  if (isStream(example)) {
    const said = await runProgram("sh", ["-ec", command], around, (text) => firstEvent(text) !== undefined);
    return firstEvent(said);
  }
  for (;;) {
    const said = await runProgram("sh", ["-ec", command], around, () => false);
    if (!isUnsigned(said)) return JSON.parse(said);
  }
}

async function runDocument(example: Example, query: string, variables: string, around: Surroundings): Promise<unknown> {
  const { url, key } = around.values;
  const stop = new AbortController();
  const body = JSON.stringify({ query, variables: JSON.parse(variables) });
  const headers = { Authorization: key, "Content-Type": "application/json" };
  if (!isStream(example)) {
    for (;;) {
      const text = await (await fetch(`${url}/graphql`, { method: "POST", headers, body })).text();
      if (!isUnsigned(text)) return JSON.parse(text);
    }
  }
  const accept = { ...headers, Accept: "text/event-stream" };
  const response = await fetch(`${url}/graphql`, { method: "POST", headers: accept, body, signal: stop.signal });
  let text = "";
  const stirring = around.stir ? setInterval(() => void around.stir?.().catch(() => undefined), 1_000) : undefined;
  try {
    for await (const piece of response.body ?? []) {
      text += new TextDecoder().decode(piece);
      if (firstEvent(text) !== undefined) return firstEvent(text);
    }
    throw new Error(`the stream ended: ${text}`);
  } finally {
    clearInterval(stirring);
    stop.abort();
  }
}

async function runTypescript(example: Example, around: Surroundings): Promise<unknown> {
  const args = ["--import", "./print-json.mjs", fileOf(example)];
  const said = isStream(example)
    ? await runProgram(process.execPath, args, around, (text) => text.includes("\n"))
    : await programs.run(fileOf(example), around.values.key);
  return JSON.parse(said.split("\n")[0] ?? "");
}

test("no program in TypeScript has a fault of types, with the client as it is packed", () => {
  for (const example of examples) {
    const program = printed.get(anchorOf(example))?.find(({ tab }) => tab === "typescript");
    writeFileSync(join(folder, fileOf(example)), fill(program?.markup ?? "", world.values));
  }
  expect(checkTypes(folder)).toBe("");
});

/** What stands for the values of the page, some of them made for one run. */
async function surroundings(example: Example): Promise<Surroundings> {
  const own: Values = { ...world.values, ...(await world.fresh[anchorOf(example)]?.()) };
  return { folder, values: own, ...(isSilent(example) ? { stir: () => world.move() } : {}) };
}

for (const example of examples)
  test(`${example.rest ?? example.graphql}: ${example.title}`, { timeout: 600_000 * slowness }, async () => {
    const snippets = printed.get(anchorOf(example)) ?? [];
    const run = async (act: (around: Surroundings) => Promise<void>) => {
      try {
        await act(await surroundings(example));
      } finally {
        await world.letBlocks();
      }
    };
    const of = (tab: string, kind: string) => snippets.find((one) => one.tab === tab && one.kind === kind)?.markup;
    await run(async (around) => {
      const answer = await runCurl(example, fill(of("curl", "curl") ?? "", around.values), around);
      if (example.rest === "get /v1/events") expect(answer).toMatchObject({ type: expect.any(String) });
      else if (example.rest) expectRest(example, answer);
      else expectGraphql(example, answer);
    });
    const document = of("graphql", "document");
    const upload = of("graphql", "curl");
    if (document)
      await run(async (around) => {
        const [query, variables] = [document, of("graphql", "variables") ?? "{}"].map((text) =>
          fill(text, around.values),
        );
        const answer = upload
          ? await runCurl(example, fill(upload, around.values), around)
          : await runDocument(example, query ?? "", variables ?? "", around);
        expectGraphql(example, answer);
      });
    await run(async (around) => {
      const program = fill(of("typescript", "typescript") ?? "", { ...around.values });
      writeFileSync(join(folder, fileOf(example)), program);
      const answer = await runTypescript(example, around);
      if (example.rest === "get /v1/events") expect(answer).toMatchObject({ cursor: expect.stringMatching(/^\d+$/) });
      else if (example.rest) expectRest(example, answer);
      else expectGraphql(example, { data: answer });
    });
  });

test("no program keeps its process from ending", async () => {
  expect(await programs.leave()).toBe(0);
});
