/** @jsxImportSource preact */
import { shortAddress } from "../shared/amounts.ts";
import type { Sale } from "./sale.ts";
import { isTouched } from "./touch.ts";
import type { WalletState } from "./use-wallet.ts";
import { walletLinks } from "./wallet-links.ts";

export function WalletPanel({ sale, wallet }: { sale: Sale; wallet: WalletState }) {
  const { wallets, connected, trouble, pairing: Pairing } = wallet;
  return (
    <>
      {connected ? (
        <p class="row apart">
          <span>
            {connected.wallet.name} <code title={connected.account}>{shortAddress(connected.account)}</code>
          </span>
          <button type="button" class="tiny" onClick={wallet.disconnect}>
            Disconnect
          </button>
        </p>
      ) : (
        <>
          <h2>Connect a wallet to mint</h2>
          {wallets.length === 0 && <NoWallet />}
          <div class="row">
            {wallets.map((one) => (
              <button type="button" class="main" key={one.id} onClick={() => void wallet.connect(one)}>
                {one.name}
                {one.local && <span class="badge warn">local chain only</span>}
              </button>
            ))}
            {sale.walletConnect && !Pairing && (
              <button type="button" onClick={() => void wallet.pair()}>
                WalletConnect
              </button>
            )}
          </div>
          {Pairing && sale.walletConnect && (
            <Pairing target={sale.walletConnect} connect={wallet.connect} close={wallet.endPairing} />
          )}
        </>
      )}
      {connected?.wallet.appUrl && isTouched() && (
        <a class="button" href={connected.wallet.appUrl}>
          Open {connected.wallet.name}
        </a>
      )}
      {connected && connected.chainId !== sale.chain.id && (
        <div class="notice warn stack">
          <p>
            Your wallet is on another network (chain id {connected.chainId}). This collection is on {sale.chain.name}.
          </p>
          <button type="button" class="main" onClick={() => void wallet.switchChain()}>
            Switch to {sale.chain.name}
          </button>
        </div>
      )}
      {trouble && (
        <p class="notice wrong" role="alert">
          {trouble}
        </p>
      )}
    </>
  );
}

function NoWallet() {
  const links = isTouched() ? walletLinks(new URL(location.href)) : [];
  if (links.length === 0)
    return (
      <p class="quiet">This browser has no wallet. Install one, or open this link in your wallet's own browser.</p>
    );
  return (
    <>
      <p class="quiet">This browser has no wallet. Open this page in your wallet's own browser:</p>
      <div class="row">
        {links.map(({ name, href }) => (
          <a class="button" key={name} href={href}>
            {name}
          </a>
        ))}
      </div>
    </>
  );
}
