import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { shortAddress } from "../shared/amounts.ts";
import { checksummed, Identicon } from "./address.tsx";
import { useIdentity } from "./identity.tsx";
import { Loading } from "./notices.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { useCurrentLink } from "./use-current-link.ts";

const pages = [
  { to: "/", name: "Overview" },
  { to: "/launch", name: "Launch" },
  { to: "/data", name: "Data" },
  { to: "/webhooks", name: "Webhooks" },
  { to: "/account", name: "Account" },
  { to: "/operator", name: "Operator" },
] as const;

/** The frame around every page. */
export function Frame() {
  const { identity, signOut } = useIdentity();
  const path = useRouterState({ select: (state) => state.location.pathname });
  const main = useRef<HTMLElement>(null);
  const nav = useCurrentLink(identity ? path : "");
  // A screen reader starts at the new page, not at the link that led to it.
  useEffect(() => {
    if (path) main.current?.focus();
  }, [path]);
  return (
    <>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <header className="top">
        <Link to="/" className="brand">
          Mintyard
        </Link>
        {identity && (
          <nav aria-label="Console" ref={nav}>
            {pages.map(({ to, name }) => (
              <Link key={to} to={to} activeOptions={{ exact: to === "/" }}>
                {name}
              </Link>
            ))}
            <a href="/docs">API reference</a>
          </nav>
        )}
        {identity && (
          <span className="row small">
            {identity.kind === "session" ? (
              <span className="address">
                <Identicon address={identity.wallet} />
                <code title={checksummed(identity.wallet)}>{shortAddress(checksummed(identity.wallet))}</code>
              </span>
            ) : (
              <span className="quiet">API key</span>
            )}
            <button type="button" onClick={() => void signOut()}>
              Sign out
            </button>
          </span>
        )}
      </header>
      <main id="main" ref={main} tabIndex={-1}>
        {identity === undefined ? <Loading what="the console" /> : identity === null ? <SignInPage /> : <Outlet />}
      </main>
    </>
  );
}
