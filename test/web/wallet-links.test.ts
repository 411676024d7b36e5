import { expect, test } from "vitest";
import { walletLinks } from "../../web/mint/wallet-links.ts";

const path = `/mint/polygon/0x${"12".repeat(20)}`;

test("each wallet's link leads back to the page, whole and without a query", () => {
  const links = walletLinks(new URL(`https://mint.example:8443${path}?utm_source=a&b=c#d`));
  const page = `https://mint.example:8443${path}`;
  const target = (name: string) => new URL(links.find((link) => link.name === name)?.href ?? "");
  expect(links.map(({ name }) => name)).toEqual(["MetaMask", "Coinbase Wallet", "Trust Wallet", "OKX Wallet"]);
  // MetaMask's has neither a scheme nor an encoding: with one it opens an empty tab.
  expect(target("MetaMask").href).toBe(`https://link.metamask.io/dapp/mint.example:8443${path}`);
  expect(target("Coinbase Wallet").href).toBe(`https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(page)}`);
  expect([...target("Trust Wallet").searchParams]).toEqual([
    ["coin_id", "60"],
    ["url", page],
  ]);
  const okx = new URL(target("OKX Wallet").searchParams.get("deeplink") ?? "");
  expect([okx.protocol, okx.searchParams.get("dappUrl")]).toEqual(["okx:", page]);
});

test("a page that a wallet could not open has no links", () => {
  for (const host of ["localhost", "box", "mint.local", "mint.lan", "a.home.arpa", "x.localhost", "127.0.0.1", "[::1]"])
    expect([host, walletLinks(new URL(`https://${host}${path}`))]).toEqual([host, []]);
  expect(walletLinks(new URL(`http://mint.example${path}`))).toEqual([]);
});
