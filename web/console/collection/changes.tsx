import { useInfiniteQuery } from "@tanstack/react-query";
import type { ResultOf } from "gql.tada";
import { graphql } from "../../../client/src/graphql.ts";
import { exactTime } from "../../shared/times.ts";
import { Copy, checksummed } from "../address.tsx";
import { api } from "../api.ts";
import { useInstallation } from "../installation.ts";
import { ErrorNotice, Loading } from "../notices.tsx";
import { Table } from "../table.tsx";
import { Time } from "../time.tsx";

const query = graphql(`query ($chain: ChainName!, $address: Address!, $after: String) {
  collection(chain: $chain, address: $address) { createdAt transactionHash }
  viewer { collectionUpdates(chain: $chain, collection: $address, after: $after) {
    nodes {
      id state createdAt transactionHash baseUri prerevealTokenUri publicMintStart presaleMintStart presaleMerkleRoot
      royaltiesBps royaltiesAddress freezesMetadata
    }
    pageInfo { hasNextPage endCursor }
  } }
}`);

type Viewer = NonNullable<ResultOf<typeof query>["viewer"]>;
type Update = NonNullable<Viewer["collectionUpdates"]>["nodes"][number];

/** A collection's history at this service: its deployment and each change of its settings, newest first. */
export function Changes({ chain, address }: { chain: string; address: string }) {
  const { data, error, isPending, hasNextPage, fetchNextPage } = useInfiniteQuery({
    queryKey: ["changes", chain, address.toLowerCase()],
    queryFn: ({ pageParam }) => api.graphql(query, { chain, address, after: pageParam }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ viewer }) => {
      const info = viewer?.collectionUpdates?.pageInfo;
      return info?.hasNextPage ? info.endCursor : undefined;
    },
    refetchInterval: 15_000,
  });
  if (isPending) return <Loading what="changes" />;
  if (!data) return <ErrorNotice error={error} />;
  const updates = data.pages.flatMap(({ viewer }) => viewer?.collectionUpdates?.nodes ?? []);
  const deployed = data.pages[0]?.collection;
  return (
    <div className="stack">
      <ErrorNotice error={error} />
      <Table label="Table of changes" heads={["What", "State", "When", "Transaction"]}>
        {updates.map((update) => (
          <tr key={update.id}>
            <td>
              {wordsOf(update).map((words) => (
                <div key={words}>{words}</div>
              ))}
            </td>
            <td>{stateWord(update.state)}</td>
            <td>
              <Time at={update.createdAt} />
            </td>
            <td>
              <Transaction hash={update.transactionHash} chain={chain} />
            </td>
          </tr>
        ))}
        {deployed && !hasNextPage && (
          <tr>
            <td>Deployed</td>
            <td>done</td>
            <td>
              <Time at={deployed.createdAt} />
            </td>
            <td>
              <Transaction hash={deployed.transactionHash} chain={chain} />
            </td>
          </tr>
        )}
      </Table>
      {hasNextPage && (
        <p>
          <button type="button" onClick={() => void fetchNextPage()}>
            More changes
          </button>
        </p>
      )}
      <p className="small quiet">
        Withdrawals, and mints of the reserve, are transactions of your own wallet: it lists them.
      </p>
    </div>
  );
}

/** The changes of an update, one line for each setting. */
function wordsOf(update: Update): string[] {
  const { baseUri, prerevealTokenUri, presaleMerkleRoot, royaltiesBps, royaltiesAddress } = update;
  const at = (time: string) => exactTime(Date.parse(time));
  return [
    ...(baseUri === null ? [] : [baseUri === "" ? "Artwork hidden again" : `Revealed: ${baseUri}`]),
    ...(prerevealTokenUri === null ? [] : [`Placeholder: ${prerevealTokenUri || "none"}`]),
    ...(update.publicMintStart === null ? [] : [`Public sale from ${at(update.publicMintStart)}`]),
    ...(update.presaleMintStart === null ? [] : [`Presale from ${at(update.presaleMintStart)}`]),
    ...(presaleMerkleRoot === null ? [] : ["Another presale list"]),
    ...(royaltiesBps === null ? [] : [`Royalties of ${royaltiesBps / 100} %`]),
    ...(royaltiesAddress === null ? [] : [`Royalties go to ${checksummed(royaltiesAddress)}`]),
    ...(update.freezesMetadata ? ["Frozen for good"] : []),
  ];
}

function stateWord(state: Update["state"]): string {
  if (state === "CONFIRMED" || state === "FINALIZED") return "done";
  const ended: Partial<Record<Update["state"], string>> = {
    FAILED_ONCHAIN: "refused by the chain",
    CANCELLED: "cancelled",
    EXPIRED: "expired",
    HELD: "waits",
  };
  return ended[state] ?? "on its way";
}

function Transaction({ hash, chain }: { hash: string | null; chain: string }) {
  const installed = useInstallation()?.chains.find(({ name }) => name === chain);
  if (hash === null) return "–";
  const text = <code title={hash}>{hash.slice(0, 10)}…</code>;
  const base = installed && !installed.local ? installed.explorer_tx_url : null;
  return (
    <span className="address">
      {base ? (
        <a href={`${base}/${hash}`} target="_blank" rel="noreferrer">
          {text}
        </a>
      ) : (
        text
      )}
      <Copy text={hash} what={`the hash of the transaction ${hash.slice(0, 10)}`} />
    </span>
  );
}
