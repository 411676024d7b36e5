import { useRef } from "react";
import { counted } from "../shared/amounts.ts";
import { readAllowlist } from "./launch/draft.ts";

interface AllowlistFieldProps {
  text: string;
  change: (text: string) => void;
  hint: string;
}

const mostShown = 20;

/** A presale list, pasted or from a file, with its repeated rows and its rows without an address. */
export function AllowlistField({ text, change, hint }: AllowlistFieldProps) {
  const picker = useRef<HTMLInputElement>(null);
  const { wallets, duplicates, wrong } = readAllowlist(text);
  return (
    <div className="stack">
      <label>
        Wallets of the presale
        <span className="hint">{hint}</span>
        <textarea value={text} spellCheck="false" onChange={(event) => change(event.target.value)} />
      </label>
      <div>
        <button type="button" onClick={() => picker.current?.click()}>
          Take a CSV file
        </button>
        <input
          ref={picker}
          type="file"
          hidden
          accept=".csv,.txt,text/csv,text/plain"
          aria-label="File of the presale list"
          onChange={(event) => {
            const [file] = event.target.files ?? [];
            event.target.value = "";
            void file?.text().then(change);
          }}
        />
      </div>
      <div role="status" className={`notice ${wrong.length > 0 ? "wrong" : ""}`}>
        <p>
          {counted(wallets.length, "wallet")}
          {duplicates > 0 ? `, ${counted(duplicates, "repeated row")} left out` : ""}
          {wrong.length > 0 ? `, ${counted(wrong.length, "row")} without an address:` : ""}
        </p>
        {wrong.length > 0 && (
          <ul>
            {wrong.slice(0, mostShown).map(({ line, text: row }) => (
              <li key={line}>
                line {line}: <code>{row}</code>
              </li>
            ))}
          </ul>
        )}
      </div>
    </div>
  );
}

/** The addresses that a list adds and removes when it replaces another. */
export function AllowlistDiff({ added, removed }: { added: readonly string[]; removed: readonly string[] }) {
  if (added.length + removed.length === 0) return <p className="quiet">The list stays as it is.</p>;
  return (
    <details>
      <summary>
        {added.length} added, {removed.length} removed
      </summary>
      <ul className="plain">
        {added.slice(0, mostShown).map((wallet) => (
          <li key={`+${wallet}`}>
            added <code>{wallet}</code>
          </li>
        ))}
        {removed.slice(0, mostShown).map((wallet) => (
          <li key={`-${wallet}`}>
            removed <code>{wallet}</code>
          </li>
        ))}
      </ul>
      {Math.max(added.length, removed.length) > mostShown && <p className="quiet">The first {mostShown} of each.</p>}
    </details>
  );
}
