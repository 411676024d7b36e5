import { useInfiniteQuery } from "@tanstack/react-query";
import { shortAddress } from "../shared/amounts.ts";
import { ApiError, get } from "./api.ts";
import { ErrorNotice, Loading } from "./notices.tsx";

interface NftItem {
  contract_address: string;
  token_id: string;
  file_url?: string | null;
  name?: string | null;
  metadata?: { name?: string; image?: string } | null;
}

interface NftPage {
  nfts: NftItem[];
  total?: number;
  continuation: string | null;
}

interface TransferItem {
  type: string;
  transfer_from?: string;
  transfer_to?: string;
  owner_address?: string;
  token_id: string;
  transaction_hash: string;
  block_number: number;
  transaction_date: string;
}

/** A page after another, by continuation. @param path without the query. */
function usePages<Page extends { continuation: string | null }>(path: string, query: string) {
  return useInfiniteQuery({
    queryKey: [path, query],
    queryFn: ({ pageParam }) =>
      get<Page>(`${path}?${query}${pageParam ? `&continuation=${encodeURIComponent(pageParam)}` : ""}`),
    initialPageParam: "",
    getNextPageParam: (page: Page) => page.continuation || undefined,
    refetchInterval: 15_000,
  });
}

/** What is not indexed yet is no failure of the page's. */
const isUnknown = (error: unknown) => error instanceof ApiError && error.status === 404;

/** Pictures come through this server; what lies elsewhere is not loaded. */
function pictureOf({ metadata, file_url }: NftItem): string | null {
  const match = /^ipfs:\/*(?:ipfs\/)?(.+)$/.exec(metadata?.image ?? file_url ?? "");
  return match ? `/ipfs/${match[1]}` : null;
}

/** @param holder shows an account's tokens; otherwise a contract's. */
export function TokenGrid({ chain, address, holder = false }: { chain: string; address: string; holder?: boolean }) {
  const path = holder ? `/v0/accounts/${address}` : `/v0/nfts/${address}`;
  const { data, error, isPending, hasNextPage, fetchNextPage } = usePages<NftPage>(
    path,
    `chain=${chain}&include=metadata&page_size=24`,
  );
  const nfts = data?.pages.flatMap((page) => page.nfts) ?? [];
  if (isPending) return <Loading what="tokens" />;
  if (error && !isUnknown(error)) return <ErrorNotice error={error} />;
  if (nfts.length === 0) return <p className="quiet">No tokens yet.</p>;
  return (
    <div className="stack">
      <p className="small quiet">{(data?.pages[0]?.total ?? nfts.length).toLocaleString()} tokens</p>
      <ul className="cards small-cards">
        {nfts.map((nft) => {
          const picture = pictureOf(nft);
          const name = nft.metadata?.name ?? nft.name ?? `#${nft.token_id}`;
          return (
            <li key={`${nft.contract_address} ${nft.token_id}`} className="card">
              {picture ? (
                <img src={picture} alt="" width="200" height="200" loading="lazy" />
              ) : (
                <div className="no-picture">#{nft.token_id}</div>
              )}
              <p>{name}</p>
              <p className="small quiet">Token {nft.token_id}</p>
            </li>
          );
        })}
      </ul>
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()}>
          More tokens
        </button>
      )}
    </div>
  );
}

export function TransferTable({
  chain,
  address,
  account = false,
}: {
  chain: string;
  address: string;
  account?: boolean;
}) {
  const path = `/v0/transactions/${account ? "accounts" : "nfts"}/${address}`;
  const { data, error, isPending, hasNextPage, fetchNextPage } = usePages<{
    transactions: TransferItem[];
    continuation: string | null;
  }>(path, `chain=${chain}&page_size=20`);
  const items = data?.pages.flatMap((page) => page.transactions) ?? [];
  if (isPending) return <Loading what="transfers" />;
  if (error && !isUnknown(error)) return <ErrorNotice error={error} />;
  if (items.length === 0) return <p className="quiet">Nothing has moved yet.</p>;
  return (
    <div className="stack">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <section className="scroll" tabIndex={0} aria-label="Transfers">
        <table>
          <thead>
            <tr>
              <th>What</th>
              <th>Token</th>
              <th>From</th>
              <th>To</th>
              <th>Block</th>
              <th>When</th>
            </tr>
          </thead>
          <tbody>
            {items.map((item) => (
              <tr key={`${item.transaction_hash} ${item.token_id} ${item.type}`}>
                <td>{item.type}</td>
                <td>{item.token_id}</td>
                <td>{short(item.transfer_from ?? (item.type === "burn" ? item.owner_address : undefined))}</td>
                <td>{short(item.transfer_to ?? (item.type === "mint" ? item.owner_address : undefined))}</td>
                <td>{item.block_number}</td>
                <td>{new Date(`${item.transaction_date}Z`).toLocaleString()}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
      {hasNextPage && (
        <button type="button" onClick={() => void fetchNextPage()}>
          More transfers
        </button>
      )}
    </div>
  );
}

function short(address: string | undefined) {
  return address ? <code title={address}>{shortAddress(address)}</code> : "–";
}
