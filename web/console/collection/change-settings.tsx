import { type FormEvent, useState } from "react";
import type { Collection } from "../collections.ts";
import { localTime, readAllowlist } from "../launch/draft.ts";
import { ErrorNotice } from "../notices.tsx";
import { useUpdate } from "./use-update.ts";

const inputTime = (text: string | null) => (text === null ? "" : localTime(new Date(`${text}Z`)));

/** What may change: the windows of the sale, the presale list, royalties. Only what differs is sent. */
export function ChangeSettings({ collection }: { collection: Collection }) {
  const update = useUpdate(collection);
  const [publicStart, setPublic] = useState(inputTime(collection.public_mint_start));
  const [presaleStart, setPresale] = useState(inputTime(collection.presale_mint_start));
  const [royalties, setRoyalties] = useState(String(collection.royalties_share / 100));
  const before = collection.presale_whitelisted_addresses ?? [];
  const [text, setText] = useState(before.join("\n"));
  const list = readAllowlist(text);
  const [old, now] = [lower(before), lower(list.wallets)];
  const added = [...now].filter((wallet) => !old.has(wallet)).length;
  const removed = [...old].filter((wallet) => !now.has(wallet)).length;
  const changes = {
    ...(publicStart === inputTime(collection.public_mint_start) ? {} : { public_mint_start: iso(publicStart) }),
    ...(presaleStart === inputTime(collection.presale_mint_start) ? {} : { presale_mint_start: iso(presaleStart) }),
    ...(Number(royalties) * 100 === collection.royalties_share
      ? {}
      : { royalties_share: Math.round(Number(royalties) * 100) }),
    ...(added + removed === 0 ? {} : { presale_whitelisted_addresses: list.wallets }),
  };
  const count = Object.keys(changes).length;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (count > 0) update.send(changes);
  };
  return (
    <details className="card">
      <summary>Change settings</summary>
      <form className="stack" onSubmit={submit}>
        <div className="fields">
          <label>
            Public sale opens
            <input
              type="datetime-local"
              required
              value={publicStart}
              onChange={(event) => setPublic(event.target.value)}
            />
          </label>
          <label>
            Presale opens
            <input type="datetime-local" value={presaleStart} onChange={(event) => setPresale(event.target.value)} />
          </label>
          <label>
            Royalties, per cent
            <input
              type="number"
              min={0}
              max={100}
              step="any"
              value={royalties}
              onChange={(event) => setRoyalties(event.target.value)}
            />
          </label>
        </div>
        <label>
          Wallets of the presale
          <span className="hint">The whole list; it replaces the one in force</span>
          <textarea value={text} spellCheck={false} onChange={(event) => setText(event.target.value)} />
        </label>
        <p role="status">
          {added} added, {removed} removed
          {list.duplicates > 0 ? `, ${list.duplicates} repeated` : ""}
          {list.wrong.length > 0 ? `; line ${list.wrong[0]?.line} is no address` : ""}
        </p>
        <p>
          <button type="submit" className="main" disabled={count === 0 || list.wrong.length > 0 || update.isPending}>
            {count === 0 ? "Nothing is changed" : `Change ${count === 1 ? "one setting" : `${count} settings`}`}
          </button>
        </p>
        {update.said && <p role="status">{update.said}</p>}
        <ErrorNotice error={update.error} />
      </form>
    </details>
  );
}

const lower = (wallets: readonly string[]) => new Set(wallets.map((wallet) => wallet.toLowerCase()));
const iso = (text: string) => (text === "" ? null : new Date(text).toISOString());
