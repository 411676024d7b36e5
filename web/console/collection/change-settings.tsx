import { useState } from "react";
import { AllowlistDiff, AllowlistField } from "../allowlist-field.tsx";
import type { Collection } from "../collections.ts";
import { localTime, readAllowlist } from "../launch/draft.ts";
import { CheckedUpdate } from "./checked-update.tsx";

const inputTime = (text: string | null) => (text === null ? "" : localTime(new Date(`${text}Z`)));

/** The settings that may change: sale times, presale list, royalties. Only differences are sent. */
export function ChangeSettings({ collection }: { collection: Collection }) {
  // Fields that were not edited follow the collection, even when it is changed elsewhere.
  const [touched, touch] = useState<Partial<Record<"public" | "presale" | "royalties" | "list", string>>>({});
  const set = (member: keyof typeof touched) => (value: string) => touch((others) => ({ ...others, [member]: value }));
  const before = collection.presale_whitelisted_addresses ?? [];
  const publicStart = touched.public ?? inputTime(collection.public_mint_start);
  const presaleStart = touched.presale ?? inputTime(collection.presale_mint_start);
  const royalties = touched.royalties ?? String(collection.royalties_share / 100);
  const text = touched.list ?? before.join("\n");
  const list = readAllowlist(text);
  const [old, now] = [lower(before), lower(list.wallets)];
  const added = [...now].filter((wallet) => !old.has(wallet));
  const removed = [...old].filter((wallet) => !now.has(wallet));
  const changes = {
    ...(publicStart === "" || publicStart === inputTime(collection.public_mint_start)
      ? {}
      : { public_mint_start: iso(publicStart) }),
    ...(presaleStart === "" || presaleStart === inputTime(collection.presale_mint_start)
      ? {}
      : { presale_mint_start: iso(presaleStart) }),
    ...(Number(royalties) * 100 === collection.royalties_share
      ? {}
      : { royalties_share: Math.round(Number(royalties) * 100) }),
    ...(added.length + removed.length === 0 ? {} : { presale_whitelisted_addresses: list.wallets }),
  };
  const count = Object.keys(changes).length;
  const isComplete = publicStart !== "" && royalties !== "" && list.wrong.length === 0;
  return (
    <section className="card stack" aria-labelledby="change">
      <h2 id="change">Change settings</h2>
      <div className="fields">
        <label>
          Public sale opens
          <input
            type="datetime-local"
            required
            value={publicStart}
            onChange={(event) => set("public")(event.target.value)}
          />
        </label>
        <label>
          Presale opens
          <input type="datetime-local" value={presaleStart} onChange={(event) => set("presale")(event.target.value)} />
        </label>
        <label>
          Royalties, per cent
          <input
            type="number"
            min={0}
            max={100}
            step="any"
            value={royalties}
            onChange={(event) => set("royalties")(event.target.value)}
          />
        </label>
      </div>
      <AllowlistField text={text} change={set("list")} hint="The whole list; it replaces the one in force" />
      <AllowlistDiff added={added} removed={removed} />
      <CheckedUpdate
        collection={collection}
        changes={count > 0 && isComplete ? changes : null}
        label={`Change ${count === 1 ? "one setting" : `${count} settings`}`}
        idle={count === 0 ? "Nothing is changed" : "Mend what is wrong first"}
      />
    </section>
  );
}

const lower = (wallets: readonly string[]) => new Set(wallets.map((wallet) => wallet.toLowerCase()));
const iso = (text: string) => new Date(text).toISOString();
