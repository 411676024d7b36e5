import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { graphql } from "../../../client/src/graphql.ts";
import { counted, formatBytes } from "../../shared/amounts.ts";
import { ipfsPath } from "../../shared/ipfs-path.ts";
import { readKept } from "../../shared/kept.ts";
import { previewsOf } from "../../shared/previews.ts";
import { exactTime } from "../../shared/times.ts";
import { api, ask } from "../api.ts";
import type { Collection } from "../collections.ts";
import { CheckedUpdate } from "./checked-update.tsx";

const storedFolders = graphql(`{ viewer { uploads(kinds: [METADATA_DIRECTORY], first: 50) {
  nodes { uri createdAt sizeBytes } } } }`);

/**
 * Reveals hidden tokens, or changes the folder of revealed ones. Shows three tokens before it is done.
 *
 * @param unminted tokens of the supply that nobody has minted yet.
 */
export function Reveal({ collection, unminted }: { collection: Collection; unminted: number }) {
  const isRevealed = collection.base_uri !== "";
  const remembered = readKept(`mintyard-reveal ${collection.address.toLowerCase()}`) ?? "";
  const [typed, setUri] = useState<string | null>(null);
  const uri = typed ?? (isRevealed ? collection.base_uri : remembered);
  const folder = /^ipfs:\/\/[a-z0-9]{46,}\/?$/i.test(uri.trim()) ? `${uri.trim().replace(/\/$/, "")}/` : null;
  const preview = useQuery({
    queryKey: ["preview", folder],
    enabled: folder !== null,
    queryFn: async () =>
      await Promise.all(
        [0, 1, 2].map((id) => ask<{ name?: string; image?: string }>(`${ipfsPath(folder)}${id}`).catch(() => null)),
      ),
  });
  const stored = useQuery({
    queryKey: ["folders"],
    queryFn: async () => (await api.graphql(storedFolders, {})).viewer?.uploads?.nodes ?? [],
  });
  // A folder that was stored twice is listed once.
  const folders = [...new Map((stored.data ?? []).toReversed().map((one) => [one.uri, one])).values()].toReversed();
  return (
    <section className="card stack" aria-labelledby="reveal">
      <h2 id="reveal">{isRevealed ? "Artwork" : "Reveal"}</h2>
      {isRevealed && <p className="quiet">The artwork is revealed. Until it is frozen you can name another folder.</p>}
      {!isRevealed && unminted > 0 && (
        <p className="notice warn">
          {counted(unminted, "token")} {unminted === 1 ? "is" : "are"} not minted yet. After the reveal everybody can
          see which picture comes next.
        </p>
      )}
      {folders.length > 0 && (
        <label>
          Stored folder
          <select
            value={folders.some((one) => one.uri === folder) ? (folder ?? "") : ""}
            onChange={(event) => setUri(event.target.value)}
          >
            <option value="">Another one, by its link</option>
            {folders.map(({ uri: link, createdAt, sizeBytes }) => (
              <option key={link} value={link}>
                {exactTime(Date.parse(createdAt))}, {formatBytes(sizeBytes)}, …{link.slice(-9, -1)}
              </option>
            ))}
          </select>
        </label>
      )}
      <label>
        Folder of the metadata
        <span className="hint">ipfs://… of the folder that you stored</span>
        <input value={uri} spellCheck="false" autoComplete="off" onChange={(event) => setUri(event.target.value)} />
      </label>
      {preview.data && (
        <ul className="cards small-cards" aria-label="Preview">
          {preview.data.map((token, id) => {
            const image = ipfsPath(token?.image);
            return (
              // biome-ignore lint/suspicious/noArrayIndexKey: the position is the token's id
              <li key={id} className="card">
                {image ? (
                  <img {...previewsOf(image, 200)} alt="" width="200" height="200" />
                ) : (
                  <div className="no-picture">nothing</div>
                )}
                <p>{token?.name ?? `Token ${id} has no metadata there`}</p>
              </li>
            );
          })}
        </ul>
      )}
      <CheckedUpdate
        collection={collection}
        changes={folder && folder !== collection.base_uri ? { base_uri: folder } : null}
        label={isRevealed ? "Change the artwork" : "Reveal all tokens"}
        check={isRevealed ? "Check the change" : "Check the reveal"}
        {...(isRevealed ? { idle: "This folder is shown" } : {})}
      />
    </section>
  );
}

/** This is permanent, so the name has to be typed. */
export function Freeze({ collection }: { collection: Collection }) {
  const [typed, setTyped] = useState("");
  return (
    <details className="card">
      <summary>Freeze the metadata</summary>
      <div className="stack">
        <p>After this nobody can change the collection's metadata, you neither. It cannot be undone.</p>
        <label>
          Type the collection's name, {collection.name}
          <input value={typed} autoComplete="off" onChange={(event) => setTyped(event.target.value)} />
        </label>
        <CheckedUpdate
          collection={collection}
          changes={typed === collection.name ? { freeze_metadata: true } : null}
          label="Freeze for good"
          danger
        />
      </div>
    </details>
  );
}
