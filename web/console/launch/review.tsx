import type { ReactNode } from "react";
import { counted } from "../../shared/amounts.ts";
import { exactTime, relativeTime } from "../../shared/times.ts";
import { Address } from "../address.tsx";
import type { InstalledChain } from "../installation.ts";
import { AccountWarning } from "./account-kind.tsx";
import { type Draft, readAllowlist } from "./draft.ts";

interface ReviewProps {
  draft: Draft;
  chain: InstalledChain;
}

/** All choices, each with whether it can be changed later. */
export function Review({ draft, chain }: ReviewProps) {
  const presale = draft.presaleStart !== "";
  const treasury = (draft.treasury || draft.owner).trim();
  const price = (text: string) => (Number(text) === 0 ? "free" : `${text.trim()} ${chain.coin}`);
  return (
    <div className="stack review">
      <p>
        What is marked <Lasting /> can never be changed after the deployment, by you or by anybody else.
      </p>
      <Part title="Artwork">
        <Fact name="Pictures" lasting>
          {counted(draft.supply, "token")}, numbered from 0
        </Fact>
        <Fact
          name="Metadata"
          later={
            draft.hidden
              ? "You reveal it later, and can change it until you freeze it."
              : "You can change it until you freeze it."
          }
        >
          <code>{draft.baseUri}</code>
          {draft.hidden ? " (hidden)" : ""}
        </Fact>
      </Part>
      <Part title="Collection">
        <Fact name="Name and symbol" lasting>
          {draft.name} ({draft.symbol})
        </Fact>
        <Fact name="Network" lasting>
          {chain.local ? `local chain (${chain.name}, no real money)` : chain.name}
        </Fact>
        <Fact name="Supply" lasting>
          {draft.supply}, of them {Number(draft.reserve) || "none"} reserved for you
        </Fact>
      </Part>
      <Part title="Sale">
        <Fact name="Price of one token" lasting>
          {price(draft.price)}
        </Fact>
        {presale && (
          <Fact name="Presale price" lasting>
            {price(draft.presalePrice || draft.price)}
          </Fact>
        )}
        <Fact name="Most in one mint" lasting>
          {draft.perMint}
        </Fact>
        <Fact name="Public sale opens" later="You can change it later.">
          {shownTime(draft.publicStart)}
        </Fact>
        {presale && (
          <Fact name="Presale opens" later="You can change it and its list later.">
            {shownTime(draft.presaleStart)}, for {counted(readAllowlist(draft.allowlist).wallets.length, "wallet")}
          </Fact>
        )}
      </Part>
      <Part title="Money">
        <Fact name="Treasury">
          <Address address={treasury} chain={chain.name} of="the treasury" full /> <Lasting />
          <span className="small quiet">All that buyers pay goes here. A wrong one loses it.</span>
          <AccountWarning chain={chain} address={treasury} party="treasury" />
        </Fact>
        <Fact name="Owner" later="The owner can hand the collection over.">
          <Address address={draft.owner.trim()} chain={chain.name} of="the owner" full />
          <AccountWarning chain={chain} address={draft.owner.trim()} party="owner" />
        </Fact>
        <Fact name="Royalties" later="You can change it later.">
          {draft.royalties} % of later sales, to the owner
        </Fact>
      </Part>
    </div>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      <dl className="facts">{children}</dl>
    </section>
  );
}

interface FactProps {
  name: string;
  /** Whether it can never be changed. */
  lasting?: boolean;
  /** Until when, or how, it can be changed, in a sentence. */
  later?: string;
  children: ReactNode;
}

function Fact({ name, lasting = false, later, children }: FactProps) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        {children} {lasting && <Lasting />}
        {later && <span className="small quiet">{later}</span>}
      </dd>
    </>
  );
}

function Lasting() {
  return <span className="badge lasting">for ever</span>;
}

/** @param text of a field of type `datetime-local`. */
function shownTime(text: string): string {
  const at = new Date(text).getTime();
  return Number.isNaN(at) ? "–" : `${exactTime(at)} (${relativeTime(at)})`;
}
