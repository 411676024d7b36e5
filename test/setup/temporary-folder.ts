import { randomUUID } from "node:crypto";
import { mkdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";

/**
 * An empty folder for the test that calls it, or for the file or `describe` in which it is called; after that it is removed.
 *
 * @returns its path. That of a file is there from `beforeAll` on.
 */
export function temporaryFolder(): string {
  const folder = join(tmpdir(), `mintyard-${randomUUID()}`);
  const make = () => void mkdirSync(folder);
  const remove = () => rmSync(folder, { recursive: true, force: true });
  try {
    onTestFinished(remove);
    make();
  } catch {
    // No test is running: the file is being loaded.
    beforeAll(make);
    afterAll(remove);
  }
  return folder;
}
