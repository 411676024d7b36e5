import calls from "virtual:collection-calls";
import { useState } from "react";
import { markPattern, sampleOf, type ValueName } from "../../../src/reference/example.ts";
import { keep } from "../../shared/kept.ts";
import { Copy, checksummed } from "../address.tsx";
import type { Collection } from "../collections.ts";
import { RequestLog } from "../request-log.tsx";

const languages = ["curl", "GraphQL", "TypeScript"] as const;

/** Calls of both APIs with the values of one collection; the key is a placeholder and never shown. */
export function Developer({ collection: { chain, address, base_uri } }: { collection: Collection }) {
  const [language, setLanguage] = useState<(typeof languages)[number]>("curl");
  const contract = checksummed(address);
  const values: Partial<Record<ValueName, string>> = {
    ...{ url: location.origin, chain, collection: contract, contract },
    // A real folder in the example could reveal another collection's artwork as this one's.
    folder: base_uri || "ipfs://YOUR_FOLDER/",
  };
  const filled = (text: string) => text.replaceAll(markPattern, (_, name: ValueName) => values[name] ?? sampleOf(name));
  /** The reference, which has the same origin, reads these values into its examples. */
  const keepValues = () => {
    for (const name of ["chain", "collection", "contract"] as const)
      keep(`mintyard-reference-${name}`, values[name] ?? "");
  };
  return (
    <section className="card stack" aria-labelledby="developer">
      <div className="row apart">
        <h2 id="developer">Developer</h2>
        <fieldset className="row">
          <legend className="hidden">Language of the calls</legend>
          {languages.map((name) => (
            <label key={name} className="check">
              <input type="radio" name="language" checked={language === name} onChange={() => setLanguage(name)} />
              {name}
            </label>
          ))}
        </fieldset>
      </div>
      <p className="quiet">
        Calls for this collection. Put a key into <code>MINTYARD_KEY</code>: the page Account makes one. Those that read
        need the scope <code>read</code>, those that change the collection <code>deploy</code>, webhooks{" "}
        <code>admin</code>.
      </p>
      {calls.map(({ title, anchor, forms }) => (
        <details key={anchor}>
          <summary>{title}</summary>
          <div className="stack">
            {(forms[language] ?? []).map(filled).map((text) => (
              <div key={text} className="code">
                {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
                <pre tabIndex={0}>{text}</pre>
                <Copy text={text} what={`the ${language} of: ${title}`} />
              </div>
            ))}
            <p className="small">
              <a href={`/docs#${anchor}`} onClick={keepValues}>
                Its parameters and errors
              </a>
            </p>
          </div>
        </details>
      ))}
      <p>
        <a href="/docs" onClick={keepValues}>
          All operations, filled in for this collection
        </a>
      </p>
      <RequestLog about={contract} />
    </section>
  );
}
