/** Wallets with a browser of their own, and the link that opens a page in it, from their documentation. */
const wallets: readonly [name: string, link: (page: URL) => string][] = [
  ["MetaMask", ({ host, pathname }) => `https://link.metamask.io/dapp/${host}${pathname}`],
  ["Coinbase Wallet", (page) => `https://go.cb-w.com/dapp?cb_url=${urlIn(page)}`],
  ["Trust Wallet", (page) => `https://link.trustwallet.com/open_url?coin_id=60&url=${urlIn(page)}`],
  ["OKX Wallet", (page) => `https://web3.okx.com/download?deeplink=${encodeURIComponent(okx(page))}`],
];

const okx = (page: URL) => `okx://wallet/dapp/url?dappUrl=${urlIn(page)}`;
const urlIn = ({ origin, pathname }: URL) => encodeURIComponent(origin + pathname);

/** Host names that end in one of these, or lack a dot, or are IP addresses only work within one network. */
const ownNetwork = /(^|\.)(localhost|local|lan|internal|home\.arpa)$|^[^.]*$|^[\d.]+$/;

/**
 * Links that open a page in wallets' own browsers, for phones, where a wallet is an app and other browsers have none.
 *
 * @param page its query and fragment are dropped.
 * @returns none for a page that is not public or not served over HTTPS: a wallet would not open it.
 */
export function walletLinks(page: URL): { name: string; href: string }[] {
  if (page.protocol !== "https:" || ownNetwork.test(page.hostname)) return [];
  return wallets.map(([name, link]) => ({ name, href: link(page) }));
}
