import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { join } from "node:path";
import { withoutKeys } from "./supervisor.ts";

const script = join(import.meta.dirname, "../../bin/build-web.ts");

/**
 * Builds the console and the mint page while the stack starts, in a process of its own: the bundler takes a hundred
 * megabytes, which no process of the service should keep. An installed package has built pages and no bundler.
 *
 * @param report gets one line if the build fails; the service works without its pages.
 */
export function buildPages(report: (line: string) => void): { end(): void } {
  try {
    createRequire(script).resolve("vite/package.json");
  } catch {
    return { end: () => undefined };
  }
  // A process group of its own: Ctrl-C reaches only the launcher.
  const child = spawn(process.execPath, [script], {
    env: withoutKeys(process.env),
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  let said = "";
  let stopped = false;
  child.stderr.on("data", (piece: Buffer) => {
    said = (said + piece.toString("utf8")).slice(-2_000);
  });
  child.once("error", (error) => report(`mintyard: the pages were not built: ${error.message}`));
  child.once("exit", (code) => {
    if (code !== 0 && !stopped) report(`mintyard: the pages were not built (code ${code}): ${said.trim()}`);
  });
  return {
    end: () => {
      stopped = true;
      child.kill("SIGTERM");
    },
  };
}
