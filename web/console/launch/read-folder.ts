/** One token of the folder: its picture, and its metadata if the folder has some. */
export interface FolderToken {
  id: number;
  image: File;
  metadata: Record<string, unknown> | null;
}

export interface FolderProblem {
  file: string;
  /** What is wrong, and what to change. */
  text: string;
}

export interface Folder {
  name: string;
  tokens: FolderToken[];
  bytes: number;
  problems: FolderProblem[];
}

const pictures = /\.(png|jpe?g|gif|webp|svg|avif)$/i;
const hiddenFile = /(^|\/)(\.|__MACOSX|Thumbs\.db$|desktop\.ini$)/;

interface Found {
  path: string;
  file: File;
}

/** Every file that was dropped, folders looked through. */
export async function filesOfDrop(items: DataTransferItemList): Promise<Found[]> {
  const entries = [...items].flatMap((item) => item.webkitGetAsEntry() ?? []);
  const found: Found[] = [];
  const visit = async (entry: FileSystemEntry): Promise<void> => {
    if (entry.isFile) {
      const file = await new Promise<File>((done, failed) => (entry as FileSystemFileEntry).file(done, failed));
      found.push({ path: entry.fullPath.replace(/^\//, ""), file });
      return;
    }
    const reader = (entry as FileSystemDirectoryEntry).createReader();
    // It gives a hundred at a time.
    for (;;) {
      const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
      if (some.length === 0) return;
      for (const one of some) await visit(one);
    }
  };
  for (const entry of entries) await visit(entry);
  return found;
}

export function filesOfInput(list: FileList): Found[] {
  return [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }));
}

/**
 * Reads a folder as generators write it: pictures named by number, and beside them JSON files of the same numbers. The
 * pictures' bytes are not read here.
 *
 * @param mostBytes of one picture.
 */
export async function readFolder(files: readonly Found[], mostBytes: number): Promise<Folder> {
  const seen = files.filter(({ path }) => !hiddenFile.test(path));
  const problems: FolderProblem[] = [];
  const images = new Map<number, Found>();
  const documents = new Map<number, Found>();
  for (const found of seen) {
    const base = found.path.split("/").at(-1) ?? "";
    if (/^(_metadata|_?collection|launch)\.json$/i.test(base)) continue;
    const kind = pictures.test(base) ? images : /\.json$/i.test(base) || /^\d+$/.test(base) ? documents : null;
    const number = /^(\d+)(\.|$)/.exec(base)?.[1];
    if (kind === null)
      problems.push({ file: found.path, text: "is neither a picture nor JSON; take it out of the folder" });
    else if (number === undefined)
      problems.push({ file: found.path, text: "is not named by a token's number, such as 0.png" });
    else if (kind.has(Number(number)))
      problems.push({
        file: found.path,
        text: `has the number of ${kind.get(Number(number))?.path}; keep one of them`,
      });
    else kind.set(Number(number), found);
  }
  const tokens: FolderToken[] = [];
  for (const [id, { path, file }] of [...images].sort(([one], [other]) => one - other)) {
    if (file.size === 0) problems.push({ file: path, text: "is empty" });
    if (file.size > mostBytes)
      problems.push({ file: path, text: `is over the limit of ${mostBytes} bytes; make it smaller` });
    const document = documents.get(id);
    tokens.push({ id, image: file, metadata: document ? await readDocument(document, problems) : null });
    if (!document && documents.size > 0) problems.push({ file: path, text: `has no metadata; add ${id}.json` });
  }
  for (const [id, { path }] of documents)
    if (!images.has(id)) problems.push({ file: path, text: `has no picture ${id}` });
  checkNumbers(tokens, problems);
  const bytes = tokens.reduce((sum, { image }) => sum + image.size, 0);
  return { name: seen[0]?.path.split("/")[0] ?? "", tokens, bytes, problems };
}

async function readDocument({ path, file }: Found, problems: FolderProblem[]): Promise<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(await file.text());
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
    problems.push({ file: path, text: "must be one JSON object" });
  } catch (error) {
    problems.push({ file: path, text: `is not JSON: ${(error as Error).message}` });
  }
  return {};
}

/** Contracts count from 0 without gaps. Folders that count from 1 are moved down by one. */
function checkNumbers(tokens: FolderToken[], problems: FolderProblem[]): void {
  if (tokens.length === 0) return void problems.push({ file: "", text: "The folder has no pictures." });
  const first = tokens[0]?.id ?? 0;
  if (first === 1) for (const token of tokens) token.id -= 1;
  const wrong = tokens.findIndex(({ id }, at) => id !== at);
  if (wrong >= 0)
    problems.push({ file: `${wrong + (first === 1 ? 1 : 0)}`, text: "is missing: numbers must have no gap" });
}
