import { type DragEvent, useEffect, useRef, useState } from "react";
import { counted, formatBytes } from "../../shared/amounts.ts";
import { useIdentity } from "../identity.tsx";
import { useInstallation } from "../installation.ts";
import { ErrorNotice } from "../notices.tsx";
import type { Draft } from "./draft.ts";
import { Field, type StepProps } from "./fields.tsx";
import { type Folder, filesOfDrop, filesOfInput, readFolder } from "./read-folder.ts";
import { samplePictures } from "./sample-pictures.ts";
import { StoredFiles } from "./stored-files.ts";
import { storeFile, type UploadProgress, uploadFolder } from "./upload.ts";

/** After another choice, it has to be stored with the folder before the next step. */
const unstored = { baseUri: "", placeholderUri: "" };

/** Turns a folder into stored pictures and metadata. Faults are shown before anything is sent. */
export function ArtworkStep({ draft, change }: StepProps) {
  const { identity } = useIdentity();
  const limit = useInstallation()?.limits.file_bytes ?? 20_971_520;
  const [folder, setFolder] = useState<Folder | null>(null);
  const [progress, setProgress] = useState<UploadProgress | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const [over, setOver] = useState(false);
  const [placeholder, setPlaceholder] = useState<File | null>(null);
  const picker = useRef<HTMLInputElement>(null);
  const abort = useRef(new AbortController());
  useEffect(() => {
    const controller = new AbortController();
    abort.current = controller;
    picker.current?.setAttribute("webkitdirectory", "");
    return () => controller.abort();
  }, []);

  const read = async (files: Parameters<typeof readFolder>[0]) => {
    setError(null);
    setFolder((await readFolder(files, limit).catch((failure: unknown) => void setError(failure))) ?? null);
  };
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    void filesOfDrop(event.dataTransfer.items).then(read, setError);
  };
  const store = async () => {
    if (!folder || !identity) return;
    setError(null);
    setWarnings([]);
    setProgress({ files: 0, bytes: 0, kept: 0, waiting: null });
    const { signal } = abort.current;
    const account = identity.kind === "session" ? identity.accountId : identity.key.slice(-12);
    try {
      const shown = draft.hidden ? await storePlaceholder(draft, placeholder, signal) : { placeholderUri: "" };
      const { baseUri, warnings: found } = await uploadFolder({
        ...{ tokens: folder.tokens, files: folder.files, collection: draft.name, account, signal },
        stored: await StoredFiles.open(),
        report: setProgress,
      });
      setWarnings(found);
      const supply = folder.tokens.length;
      const perMint = String(Math.min(Number(draft.perMint) || 1, supply));
      change({ baseUri, ...shown, supply, perMint, idempotencyKey: "" });
    } catch (failure) {
      if (!signal.aborted) setError(failure);
    } finally {
      setProgress(null);
    }
  };
  return (
    <div className="stack">
      <div className="fields">
        <Field draft={draft} change={change} member="name" label="Name of the collection" />
        <Field draft={draft} change={change} member="description" label="Description" optional />
      </div>
      <label className="check">
        <input
          type="checkbox"
          checked={draft.hidden}
          disabled={progress !== null}
          onChange={(event) => change({ hidden: event.target.checked, ...unstored })}
        />
        Hide the artwork until I reveal it
      </label>
      {draft.hidden && (
        <div className="fields">
          <label>
            Picture until then
            <span className="hint">
              {placeholder || draft.placeholderImage
                ? "Every token shows it until the reveal"
                : "Optional. Without one buyers see the collection's name and description"}
            </span>
            <input
              type="file"
              accept="image/*"
              disabled={progress !== null}
              onChange={(event) => {
                setPlaceholder(event.target.files?.[0] ?? null);
                change({ placeholderImage: "", ...unstored });
              }}
            />
          </label>
        </div>
      )}
      {/* biome-ignore lint/a11y/noStaticElementInteractions: the button inside does the same by keyboard */}
      <div
        className={`drop stack ${over ? "over" : ""}`}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={drop}
      >
        <p>
          Drop a folder here: pictures named by number (<code>0.png</code>), and beside them, if you have it, metadata
          of the same numbers (<code>0.json</code>).
        </p>
        <p className="row">
          <button type="button" onClick={() => picker.current?.click()}>
            Choose a folder
          </button>
          <button type="button" onClick={() => void samplePictures().then(read, setError)}>
            Try ten sample pictures
          </button>
          <input
            ref={picker}
            type="file"
            multiple
            hidden
            aria-label="Folder of artwork"
            onChange={(event) => event.target.files && void read(filesOfInput(event.target.files))}
          />
        </p>
      </div>
      {folder && <FolderReport folder={folder} />}
      {folder && folder.problems.length === 0 && (
        <button
          type="button"
          className={draft.baseUri ? "" : "main"}
          disabled={progress !== null || draft.name.trim() === ""}
          onClick={() => void store()}
        >
          {draft.name.trim() === "" ? "Name the collection first" : `Store ${counted(folder.tokens.length, "picture")}`}
        </button>
      )}
      {progress && folder && (
        <div role="status">
          <progress value={progress.bytes} max={Math.max(folder.bytes, 1)} aria-label="Stored" />
          <p className="small">
            {progress.files} of {folder.files.length} files, {formatBytes(progress.bytes)} of{" "}
            {formatBytes(folder.bytes)}
            {progress.kept > 0 ? `; ${progress.kept} were stored already` : ""}
            {progress.waiting ? `. ${progress.waiting}` : ""}
          </p>
        </div>
      )}
      {draft.baseUri && !progress && (
        <p className="notice good" role="status">
          {counted(draft.supply, "token")} stored at <code>{draft.baseUri}</code>.
        </p>
      )}
      {warnings.map((text) => (
        <p key={text} className="notice warn">
          {text}
        </p>
      ))}
      <ErrorNotice error={error} />
    </div>
  );
}

function FolderReport({ folder }: { folder: Folder }) {
  const shown = folder.problems.slice(0, 50);
  const described = folder.tokens.filter(({ document }) => document !== null).length;
  return (
    <div className={`notice ${folder.problems.length > 0 ? "wrong" : ""}`} role="status">
      <p>
        {counted(folder.files.length, "file")}, {formatBytes(folder.bytes)}
        {described > 0 && `, with metadata for ${counted(described, "token")}`}
        {folder.problems.length > 0
          ? `; ${folder.problems.length} to mend before anything is sent:`
          : ". Nothing is wrong with them."}
        {folder.leftOut.length > 0 && ` Left out, no part of a token: ${folder.leftOut.slice(0, 10).join(", ")}.`}
      </p>
      {shown.length > 0 && (
        <ul>
          {shown.map(({ file, text }) => (
            <li key={`${file} ${text}`}>
              {file && <code>{file}</code>} {text}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

/** What every token shows until the reveal. @param picture a new one; null: the stored one, if any. */
async function storePlaceholder(
  { name, description, placeholderImage: stored }: Draft,
  picture: File | null,
  signal: AbortSignal,
): Promise<Pick<Draft, "placeholderUri" | "placeholderImage">> {
  const placeholderImage = picture ? `ipfs://${await storeFile(picture, picture.name, signal)}` : stored;
  const image = placeholderImage || undefined;
  const text = JSON.stringify({ name, description: description || "Not revealed yet.", image });
  const cid = await storeFile(new Blob([text], { type: "application/json" }), "placeholder.json", signal);
  return { placeholderUri: `ipfs://${cid}`, placeholderImage };
}
