import type { ReactNode } from "react";
import { Address } from "../address.tsx";
import { Amount, useBalance } from "../balance.tsx";
import { ErrorNotice, Loading } from "../notices.tsx";
import { findTroubles } from "../operator/advice.ts";
import { HealthTiles, TroubleList } from "../operator/health.tsx";
import { ChainPlots, useHistory } from "../operator/history.tsx";
import { type ChainStatus, countsOf, useStatus } from "../operator/status.ts";
import { Table } from "../table.tsx";

/**
 * The installation's state: its parts, remedies for problems, and each chain's last day, wallets and waiting requests.
 */
export function OperatorPage() {
  const status = useStatus();
  const history = useHistory();
  const { data } = status;
  const troubles = data ? findTroubles(data) : [];
  return (
    <div className="stack">
      <h1>Operator</h1>
      <ErrorNotice error={status.error} />
      {status.isPending && <Loading what="the state of the installation" />}
      {data && (
        <>
          <HealthTiles status={data} troubles={troubles} />
          <TroubleList troubles={troubles} />
          <ErrorNotice error={history.error} />
          {data.chains.map((chain) => (
            <ChainCard key={chain.chain} chain={chain}>
              {history.data?.chains
                .filter((one) => one.chain === chain.chain)
                .map((one) => (
                  <ChainPlots key={one.chain} history={one} now={history.data.now} pays={chain.wallets.length > 0} />
                ))}
            </ChainCard>
          ))}
          <section className="card" aria-labelledby="waiting">
            <h2 id="waiting">Content</h2>
            <dl className="facts">
              <dt>Metadata</dt>
              <dd>{countsOf(data.metadata)}</dd>
              <dt>Pins</dt>
              <dd>{countsOf(data.pins)}</dd>
            </dl>
          </section>
        </>
      )}
    </div>
  );
}

function ChainCard({ chain, children }: { chain: ChainStatus; children: ReactNode }) {
  const lag = chain.lagBlocks === null ? "not known: no node answers" : `${chain.lagBlocks} blocks behind its node`;
  return (
    <section className="card stack" aria-labelledby={`chain-${chain.chainId}`}>
      <h2 id={`chain-${chain.chainId}`}>{chain.chain}</h2>
      <dl className="facts">
        <dt>Index</dt>
        <dd>{chain.indexedBlock === null ? "no block yet" : `block ${chain.indexedBlock}, ${lag}`}</dd>
        <dt>Queue</dt>
        <dd>
          {countsOf(chain.queue)}
          {chain.oldestWaitingSeconds === null ? "" : `; the oldest waits for ${chain.oldestWaitingSeconds} s`}
        </dd>
      </dl>
      {children}
      {chain.wallets.length === 0 ? (
        <p className="quiet">No wallet pays here, so nothing is deployed on this chain.</p>
      ) : (
        <Table
          label={`Wallets on ${chain.chain}`}
          heads={["Wallet", "Balance", "State", "May deploy", "Next nonce", "Under way"]}
        >
          {chain.wallets.map(({ wallet, hasRole }) => (
            <WalletRow key={wallet} chain={chain} wallet={wallet} hasRole={hasRole} />
          ))}
        </Table>
      )}
    </section>
  );
}

function WalletRow({ chain, wallet, hasRole }: { chain: ChainStatus; wallet: string; hasRole: boolean | null }) {
  const { data: balance } = useBalance(chain.chain, wallet);
  const state = chain.walletStates.find((one) => one.wallet === wallet);
  return (
    <tr>
      <td>
        <Address address={wallet} chain={chain.chain} of="the wallet that pays" full />
      </td>
      <td>{balance === undefined ? "–" : <Amount wei={balance} chain={chain.chain} rounded />}</td>
      <td>{state?.state ?? "not used yet"}</td>
      <td>{hasRole === null ? "not known" : hasRole ? "yes" : "no: its role is missing"}</td>
      <td>{state?.nextNonce ?? "–"}</td>
      <td>{state?.open ?? 0}</td>
    </tr>
  );
}
