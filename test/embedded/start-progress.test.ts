import { expect, test } from "vitest";
import { StartProgress } from "../../src/embedded/start-progress.ts";

class Output {
  text = "";
  readonly isTTY: boolean;

  constructor(isTTY: boolean) {
    this.isTTY = isTTY;
  }

  write(text: string): void {
    this.text += text;
  }
}

/** What a terminal shows: cursor up, and clearing of all below, are the only sequences that are used. */
function screenOf(text: string): string[] {
  let lines = [""];
  for (const [piece] of text.replaceAll("\x1b", "␛").matchAll(/␛\[\d+A|␛\[J|\n|[^␛\n]+/g)) {
    const up = /^␛\[(\d+)A$/.exec(piece);
    if (up) lines = lines.slice(0, lines.length - Number(up[1]));
    else if (piece === "␛[J") lines[lines.length - 1] = "";
    else if (piece === "\n") lines.push("");
    else lines[lines.length - 1] += piece;
  }
  return lines.slice(0, -1);
}

test("each part gets one line with its seconds, other lines stay as they are", () => {
  const output = new Output(false);
  let now = 1_000;
  const progress = new StartProgress(output, () => now);
  progress.starting("postgres");
  progress.starting("api");
  progress.line("[api] hello");
  now = 1_260;
  progress.ready("postgres");
  now = 12_340;
  progress.ready("api");
  progress.end();
  expect(output.text.split("\n")).toEqual([
    "[api] hello",
    "mintyard: postgres               1.3 s  ready",
    "mintyard: api                   12.3 s  ready",
    "",
  ]);
});

test("on a terminal the list stays below the lines, and is left there complete", () => {
  const output = new Output(true);
  let now = 500;
  const progress = new StartProgress(output, () => now);
  progress.starting("postgres");
  progress.starting("api");
  progress.line("[api] one");
  now = 900;
  progress.ready("postgres");
  progress.line("[api] two");
  expect(screenOf(output.text)).toEqual([
    "[api] one",
    "[api] two",
    "mintyard: postgres               0.9 s  ready",
    "mintyard: api                    0.9 s  starting",
  ]);
  now = 2_000;
  progress.ready("api");
  progress.end();
  progress.line("later");
  expect(screenOf(output.text)).toEqual([
    "[api] one",
    "[api] two",
    "mintyard: postgres               0.9 s  ready",
    "mintyard: api                    2.0 s  ready",
    "later",
  ]);
});
