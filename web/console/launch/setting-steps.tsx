import { useEffect } from "react";
import { checksummed } from "../address.tsx";
import { AllowlistField } from "../allowlist-field.tsx";
import { useIdentity } from "../identity.tsx";
import { useInstallation } from "../installation.ts";
import { AddressField, Field, type StepProps } from "./fields.tsx";

/** The collection's basic properties, none of which can be changed after the deployment. */
export function CollectionStep({ draft, change }: StepProps) {
  const chains = useInstallation()?.chains.filter(({ deploys }) => deploys) ?? [];
  const first = chains[0]?.name;
  useEffect(() => {
    if (draft.chain === "" && first) change({ chain: first });
  }, [draft.chain, first, change]);
  return (
    <div className="stack">
      <p className="quiet">None of this can be changed after the deployment.</p>
      <div className="fields">
        <label>
          Network
          <span className="hint">Where the contract stands</span>
          <select value={draft.chain} onChange={(event) => change({ chain: event.target.value })}>
            {chains.map(({ name, id, local }) => (
              <option key={id} value={name}>
                {local ? `local chain (${name}, no real money)` : name}
              </option>
            ))}
          </select>
        </label>
        <Field
          draft={draft}
          change={change}
          member="symbol"
          label="Symbol"
          hint="Three to five letters, as wallets show it"
        />
        <label>
          Supply
          <span className="hint">The number of pictures that you stored</span>
          <input value={draft.supply} readOnly />
        </label>
        <Field
          draft={draft}
          change={change}
          member="reserve"
          label="Reserve"
          hint="Tokens that only you mint"
          type="number"
        />
      </div>
    </div>
  );
}

export function SaleStep({ draft, change }: StepProps) {
  return (
    <div className="stack">
      <p className="quiet">
        Prices and the most in one mint can never be changed. When the sales open, and for whom, can.
      </p>
      <div className="fields">
        <Field
          draft={draft}
          change={change}
          member="price"
          label="Price of one token"
          hint="In the network's coin"
          type="number"
        />
        <Field
          draft={draft}
          change={change}
          member="perMint"
          label="Most tokens in one mint"
          hint="For everybody, each time"
          type="number"
        />
        <Field
          draft={draft}
          change={change}
          member="publicStart"
          label="Public sale opens"
          hint={zone()}
          type="datetime-local"
        />
        <Field
          draft={draft}
          change={change}
          member="presaleStart"
          label="Presale opens"
          hint="Empty: no presale"
          type="datetime-local"
          optional
        />
        {draft.presaleStart !== "" && (
          <Field
            draft={draft}
            change={change}
            member="presalePrice"
            label="Presale price"
            hint="Empty: the same"
            type="number"
            optional
          />
        )}
      </div>
      {draft.presaleStart !== "" && (
        <AllowlistField
          text={draft.allowlist}
          change={(allowlist) => change({ allowlist })}
          hint="One address in a line, or the rows of a CSV file. Each has one mint in the presale"
        />
      )}
    </div>
  );
}

export function MoneyStep({ draft, change }: StepProps) {
  const { identity } = useIdentity();
  const wallet = identity?.kind === "session" ? identity.wallet : "";
  useEffect(() => {
    if (draft.owner === "" && wallet) change({ owner: checksummed(wallet) });
  }, [draft.owner, wallet, change]);
  return (
    <div className="fields">
      <AddressField
        draft={draft}
        change={change}
        member="owner"
        label="Owner"
        hint="The wallet that the collection belongs to"
      />
      <AddressField
        draft={draft}
        change={change}
        member="treasury"
        label="Treasury"
        hint="Where the money goes, for ever: it can never be changed. Empty: the owner"
        optional
      />
      <Field
        draft={draft}
        change={change}
        member="royalties"
        label="Royalties"
        hint="Per cent of later sales"
        type="number"
      />
    </div>
  );
}

function zone(): string {
  return `In your time zone, ${Intl.DateTimeFormat().resolvedOptions().timeZone}`;
}
