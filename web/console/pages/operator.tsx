import { useQuery } from "@tanstack/react-query";
import { Address } from "../address.tsx";
import { ask } from "../api.ts";
import { Amount, useBalance } from "../balance.tsx";
import { ErrorNotice, Loading } from "../notices.tsx";

interface ChainStatus {
  chain: string;
  chainId: number;
  indexedBlock: string | null;
  lagSeconds: number | null;
  lagBlocks: number | null;
  wallets: { wallet: string; hasRole: boolean | null; externalTransactions: number }[];
  walletStates: { wallet: string; state: string; nextNonce: string; open: number }[];
  queue: Record<string, number>;
  oldestWaitingSeconds: number | null;
  troubles: string[];
}

interface Status {
  database: string;
  clock: { aheadSeconds: number | null; wrong: boolean };
  signer: { kind: string; trouble: string | null };
  replicas: { replica: string; trouble: string | null }[];
  chains: ChainStatus[];
  metadata: Record<string, number>;
  pins: Record<string, number>;
}

/** How the installation is: its parts, and for each chain the index, the wallets that pay, and what waits. */
export function OperatorPage() {
  const status = useQuery({ queryKey: ["status"], queryFn: () => ask<Status>("/status"), refetchInterval: 5_000 });
  const { data } = status;
  const words = data ? troublesOf(data) : [];
  return (
    <div className="stack">
      <h1>Operator</h1>
      <ErrorNotice error={status.error} />
      {status.isPending && <Loading what="the state of the installation" />}
      {data && (
        <>
          {words.length === 0 ? (
            <p className="notice good" role="status">
              Nothing needs attention.
            </p>
          ) : (
            <div className="notice warn" role="status">
              <p>This needs attention; the runbooks in the guides say what to do:</p>
              <ul>
                {words.map((text) => (
                  <li key={text}>{text}</li>
                ))}
              </ul>
            </div>
          )}
          <section className="card" aria-labelledby="parts">
            <h2 id="parts">Parts</h2>
            <dl className="facts">
              <dt>Database</dt>
              <dd>{data.database}</dd>
              <dt>Signer</dt>
              <dd>
                {data.signer.kind}
                {data.signer.trouble ? `: ${data.signer.trouble}` : ", works"}
              </dd>
              <dt>Standbys</dt>
              <dd>{data.replicas.length === 0 ? "none" : data.replicas.length}</dd>
              <dt>Metadata</dt>
              <dd>{countsOf(data.metadata)}</dd>
              <dt>Pins</dt>
              <dd>{countsOf(data.pins)}</dd>
            </dl>
          </section>
          {data.chains.map((chain) => (
            <ChainCard key={chain.chain} chain={chain} />
          ))}
        </>
      )}
    </div>
  );
}

function ChainCard({ chain }: { chain: ChainStatus }) {
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
      {chain.wallets.length === 0 ? (
        <p className="quiet">No wallet pays here, so nothing is deployed on this chain.</p>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
        <section className="scroll" tabIndex={0} aria-label={`Wallets on ${chain.chain}`}>
          <table>
            <thead>
              <tr>
                <th>Wallet</th>
                <th>Balance</th>
                <th>State</th>
                <th>Role</th>
                <th>Next nonce</th>
                <th>Under way</th>
              </tr>
            </thead>
            <tbody>
              {chain.wallets.map(({ wallet, hasRole }) => (
                <WalletRow key={wallet} chain={chain} wallet={wallet} hasRole={hasRole} />
              ))}
            </tbody>
          </table>
        </section>
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
      <td>{hasRole === null ? "not known" : hasRole ? "has it" : "missing"}</td>
      <td>{state?.nextNonce ?? "–"}</td>
      <td>{state?.open ?? 0}</td>
    </tr>
  );
}

function troublesOf({ database, clock, signer, replicas, chains }: Status): string[] {
  return [
    ...(database === "ok" ? [] : [`The database is ${database}.`]),
    ...(clock.wrong ? [`The clock is ${clock.aheadSeconds} s ahead of the database's.`] : []),
    ...(signer.trouble ? [`The signer does not sign: ${signer.trouble}.`] : []),
    ...replicas.flatMap(({ replica, trouble }) => (trouble ? [`Standby ${replica}: ${trouble}.`] : [])),
    ...chains.flatMap(({ chain, troubles }) => troubles.map((text) => `${chain}: ${text.replaceAll("_", " ")}`)),
  ];
}

function countsOf(counts: Readonly<Record<string, number>>): string {
  const some = Object.entries(counts).filter(([, items]) => items > 0);
  return some.length === 0 ? "nothing waits" : some.map(([state, items]) => `${items} ${state}`).join(", ");
}
