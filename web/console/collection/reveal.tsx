import { useQuery } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { get } from "../api.ts";
import type { Collection } from "../collections.ts";
import { ErrorNotice } from "../notices.tsx";
import { useUpdate } from "./use-update.ts";

const pathOf = (uri: string) => uri.replace(/^ipfs:\/*/, "/ipfs/");

/** Shows what hidden tokens are. Three of them are seen before it is done. */
export function Reveal({ collection }: { collection: Collection }) {
  const update = useUpdate(collection);
  const [uri, setUri] = useState(localStorage.getItem(`mintyard-reveal ${collection.address.toLowerCase()}`) ?? "");
  const folder = /^ipfs:\/\/[a-z0-9]{46,}\/?$/i.test(uri.trim()) ? `${uri.trim().replace(/\/$/, "")}/` : null;
  const preview = useQuery({
    queryKey: ["preview", folder],
    enabled: folder !== null,
    queryFn: async () =>
      await Promise.all(
        [0, 1, 2].map((id) => get<{ name?: string; image?: string }>(pathOf(`${folder}${id}`)).catch(() => null)),
      ),
  });
  if (collection.base_uri !== "" || collection.metadata_frozen) return null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (folder) update.send({ base_uri: folder });
  };
  return (
    <section className="card stack" aria-labelledby="reveal">
      <h2 id="reveal">Reveal</h2>
      <form className="stack" onSubmit={submit}>
        <label>
          Folder of the metadata
          <span className="hint">ipfs://… of the folder that you stored</span>
          <input value={uri} spellCheck={false} autoComplete="off" onChange={(event) => setUri(event.target.value)} />
        </label>
        {preview.data && (
          <ul className="cards small-cards" aria-label="Preview">
            {preview.data.map((token, id) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: the position is the token's id
              <li key={id} className="card">
                {token?.image ? (
                  <img src={pathOf(token.image)} alt="" width="200" height="200" />
                ) : (
                  <div className="no-picture">nothing</div>
                )}
                <p>{token?.name ?? `Token ${id} has no metadata there`}</p>
              </li>
            ))}
          </ul>
        )}
        <p>
          <button type="submit" className="main" disabled={!folder || update.isPending}>
            Reveal all tokens
          </button>
        </p>
        {update.said && <p role="status">{update.said}</p>}
        <ErrorNotice error={update.error} />
      </form>
    </section>
  );
}

/** For good, so the name has to be typed. */
export function Freeze({ collection }: { collection: Collection }) {
  const update = useUpdate(collection);
  const [typed, setTyped] = useState("");
  if (collection.metadata_frozen) return null;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (typed === collection.name) update.send({ freeze_metadata: true });
  };
  return (
    <details className="card">
      <summary>Freeze the metadata</summary>
      <form className="stack" onSubmit={submit}>
        <p>After this nobody can change the collection's metadata, you neither. It cannot be undone.</p>
        <label>
          Type the collection's name, {collection.name}
          <input value={typed} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
        </label>
        <p>
          <button type="submit" className="danger" disabled={typed !== collection.name || update.isPending}>
            Freeze for good
          </button>
        </p>
        {update.said && <p role="status">{update.said}</p>}
        <ErrorNotice error={update.error} />
      </form>
    </details>
  );
}
