/** Wallets with a browser of their own, and the link that opens a page in it, as their documentation has it. */
const wallets: readonly [name: string, link: (page: URL) => string][] = [
  ["MetaMask", ({ host, pathname }) => `https://link.metamask.io/dapp/${host}${pathname}`],
  ["Coinbase Wallet", (page) => `https://go.cb-w.com/dapp?cb_url=${urlIn(page)}`],
  ["Trust Wallet", (page) => `https://link.trustwallet.com/open_url?coin_id=60&url=${urlIn(page)}`],
  ["OKX Wallet", (page) => `https://web3.okx.com/download?deeplink=${encodeURIComponent(okx(page))}`],
];

const okx = (page: URL) => `okx://wallet/dapp/url?dappUrl=${urlIn(page)}`;
const urlIn = ({ origin, pathname }: URL) => encodeURIComponent(origin + pathname);

/** Where these stand at the end of a host's name, or in place of one, only machines of one network find it. */
const ownNetwork = /(^|\.)(localhost|local|lan|internal|home\.arpa)$|^[^.]*$|^[\d.]+$/;

/**
 * Links that open a page in the browsers of wallets, for phones: there a wallet is an app, and other browsers have none.
 *
 * @param page its query and fragment stay behind.
 * @returns none for a page that is not public or not served over HTTPS: a wallet would not open it.
 */
export function walletLinks(page: URL): { name: string; href: string }[] {
  if (page.protocol !== "https:" || ownNetwork.test(page.hostname)) return [];
  return wallets.map(([name, link]) => ({ name, href: link(page) }));
}
