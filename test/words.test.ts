import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";

const root = resolve(import.meta.dirname, "..");

/** What was written once, and what is written now. A pattern spares the word where it is plain English or a tool's own. */
const retired = {
  doors: [/\bdoors?\b/i, "API"],
  wishes: [/\bwish(es)?\b/i, "request"],
  handover: [/\bhand(ed)?[ -]?over\b/i, "request state"],
  believedSession: [/\bbelievedSession\b/, "cachedSession"],
  knownText: [/\bknownText\b/, "cachedStatement"],
  giveWay: [/\bgives? ?way\b/i, "lower priority"],
  markSeldom: [/\bmarkSeldom\b/, "tuneGc"],
  youngBuffers: [/\byoung ?buffers?\b/i, "minor collection"],
  seededDefects: [/\bhasDefect\b/, "a patch in test/chaos/mutants"],
  lanes: [/\blanes?\b|[a-z]Lanes?\b|\bLane[A-Z]|lane_/i, "relayer wallet; pipelined connection"],
  nonceSlots: [/service\.slot\b|\b(find|assign|open|guard|settle)_?Slots?\b/i, "nonce reservation"],
  permitSlots: [/\b(upload|stream)[ _-]?slots?\b/i, "permit"],
  generations: [/\b(newest|startNext)Generation\b|\b(further|next) generation\b/i, "retry number"],
  overtaken: [/\bovertaken/i, "superseded"],
  apart: [/\bapart: (true|false|boolean)/, "retryIndividually"],
  patience: [/patience/i, "timeout"],
  rounds: [/\b(drive|push|settle)Round\b|\bdriveFound\b/, "resubmit, submit, confirm"],
  looks: [/\blook(At|For|Out|Again)[A-Z]?|\blooked(At|For|Out)\b|\blook(s|ed)? out\b/, "poll, refresh"],
  adopted: [/\badopt(s|ed|ing|ion|Deployment)?\b/i, "import"],
  quarantined: [/quarantin/i, "nonce_conflict; rejected"],
  foreign: [/\bforeign[_ ]?transactions?\b|\baccept-?foreign\b/i, "external"],
  noops: [/\bnoops?\b|_noop|[a-z]Noop/i, "cancellation transaction"],
  told: [/\btold(By|To)\b|[a-z]Told\b|\b(const|let) told\b/, "reported"],
  notes: [/\bnote[A-Z]\w*\(|\bnote_\w+/, "record"],
  facts: [/\b(Error|Factory|Stack)Facts\b/, "context"],
  strangers: [/\bstrangers?\b/i, "third party"],
  liars: [/\b[Ll]iars?\b|\b[Ll]ying\b|[a-z](Liar|Lies)\b|\bLying[A-Z]/, "faulty RPC"],
  decks: [/\bdecks?\b|\bdeeds?\b|\bdice\b/i, "fault schedule, fault, seeded generator"],
  stages: [/\b(Launch|Sign)Stage\b|\bGround\b|\.strike\(/, "fixture, nodes, tearDown"],
  plays: [/\bPlay(Order|Process|Answer)?\b|\bdefect-plays\b/, "scenario"],
  recognised: [/\b[Rr]ecognis|[a-z]Recognis/, "detect"],
  standing: [/\b(is|expect)Standing\b/, "confirmed"],
  signingPlaces: [/\bsigning-?place\b/i, "signing backend"],
} as const satisfies Record<string, readonly [RegExp, string]>;

function retiredIn(text: string): string[] {
  return text.split("\n").flatMap((line, at) =>
    Object.values(retired)
      .filter(([word]) => word.test(line))
      .map(([, now]) => `${at + 1}: ${line.trim()} (now: ${now})`),
  );
}

const self = "test/words.test.ts";
const text = /\.(c?[jt]s|m[jt]s|sql|md|json|graphql|ya?ml|patch|sh|conf|template|service|html|css)$|\/Dockerfile$/;

test("retired words stay out of code, tests, schema and documents", () => {
  const folders = ["src", "bin", "schema", "indexer/src", "deploy", "docs", "test", "bench"];
  const files = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter((file) => text.test(file) && !/\/node_modules\/|lock\.json$/.test(file) && !file.endsWith(self)),
  );
  for (const name of ["README.md", "CONTRIBUTING.md", ".env.example"]) files.push(join(root, name));
  expect(files.length).toBeGreaterThan(800);
  const found = files.flatMap((file) =>
    [...retiredIn(file.slice(root.length + 1)), ...retiredIn(readFileSync(file, "utf8"))].map(
      (line) => `${file.slice(root.length + 1)}:${line}`,
    ),
  );
  expect(found).toEqual([]);
});

test("a retired word is found in a name and in a sentence", () => {
  expect(retiredIn("const door = 1;\n/** Fulfils a wish. */\nawait lockLane(noteFees(chain));\nfine")).toEqual([
    "1: const door = 1; (now: API)",
    "2: /** Fulfils a wish. */ (now: request)",
    "3: await lockLane(noteFees(chain)); (now: relayer wallet; pipelined connection)",
    "3: await lockLane(noteFees(chain)); (now: record)",
  ]);
});
