import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The folder with `src/` and `test/`. */
export const ownTree = join(import.meta.dirname, "../..");
const patches = join(import.meta.dirname, "mutants");

/** What a patch may change, and what imports that; the rest of the tree is linked. */
export const copied = ["src", "schema", "test/chaos", "test/transactions", "test/setup"];
export const linked = ["contracts", "node_modules", "package.json", "package-lock.json"];

/** Names of the seeded defects: `test/chaos/mutants/NAME.patch`. */
export function listMutants(): string[] {
  return readdirSync(patches).map((file) => basename(file, ".patch"));
}

/** A copy of this tree for seeded defects: the product's own code has none. */
export class MutantTree {
  readonly root: string;

  private constructor(root: string) {
    this.root = root;
  }

  /** @param defects what it has from the beginning. */
  static async make(defects: readonly string[] = []): Promise<MutantTree> {
    const root = await mkdtemp(join(tmpdir(), "mintyard-mutants-"));
    for (const path of copied) {
      await mkdir(dirname(join(root, path)), { recursive: true });
      await cp(join(ownTree, path), join(root, path), { recursive: true });
    }
    for (const path of linked) await symlink(join(ownTree, path), join(root, path));
    const tree = new MutantTree(root);
    try {
      for (const defect of defects) await tree.apply(defect);
      return tree;
    } catch (error) {
      await tree.remove();
      throw error;
    }
  }

  /**
   * Processes that are started from this tree afterwards have the defect.
   *
   * @throws Error that names the patch when it does not fit the code any more.
   */
  async apply(name: string): Promise<void> {
    await applyPatch(mutantFile(name), this.root);
  }

  /** Takes a defect back that was applied. Processes that have loaded their code keep it. */
  async revert(name: string): Promise<void> {
    await applyPatch(mutantFile(name), this.root, "--reverse");
  }

  async remove(): Promise<void> {
    await rm(this.root, { recursive: true, force: true });
  }
}

/**
 * Applies a unified diff to the files below a folder: all of it or nothing.
 *
 * @param options of `git apply`; with `--check` nothing is changed.
 * @throws Error that names the patch.
 */
export async function applyPatch(patch: string, root: string, ...options: string[]): Promise<void> {
  // A repository around the folder would make git leave out, without a word, what is not below its own root.
  const env = { PATH: process.env["PATH"], GIT_DIR: join(root, "no-repository") };
  await run("git", ["apply", ...options, patch], { cwd: root, env }).catch((error: { stderr?: string }) => {
    const reason = error.stderr?.trim() || String(error);
    throw new Error(`the seeded defect ${basename(patch)} does not apply to this tree; make the patch anew: ${reason}`);
  });
}

/** @throws Error when there is no such seeded defect; it names those that there are. */
export function mutantFile(name: string): string {
  if (!listMutants().includes(name))
    throw new Error(`there is no seeded defect ${name}; there are ${listMutants().join(", ")}`);
  return join(patches, `${name}.patch`);
}
