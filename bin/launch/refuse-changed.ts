import { CommandError } from "../command-error.ts";
import { openIntent } from "./deploy.ts";
import type { Journal } from "./journal.ts";
import { listed } from "./read-folder.ts";

/** A launch goes on with the files that were uploaded. @throws CommandError with the changed files, if any. */
export function refuseChanged(changed: readonly string[], journal: Journal): void {
  if (changed.length === 0) return;
  const further = openIntent(journal)
    ? "put back what was uploaded: the collection was deployed with it"
    : `put back what was uploaded, or remove ${journal.path} to begin anew (nothing is deployed yet)`;
  throw new CommandError(`changed after the upload: ${listed(changed)}; ${further}`);
}
