import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { shortAddress } from "../shared/amounts.ts";
import { Copy } from "./address.tsx";
import { api, ask } from "./api.ts";
import { ErrorNotice, Loading } from "./notices.tsx";
import { Table } from "./table.tsx";
import { Time } from "./time.tsx";

interface Entry {
  id: string;
  at: string;
  method: string;
  route: string;
  path: string;
  operation: string | null;
  fields: string | null;
  status: number;
  code: string | null;
  ms: number;
  request_id: string;
  key: { id: string; name: string } | null;
  wallet: string | null;
  skipped: number;
}

interface Page {
  /** False: the operator has switched the log off. */
  kept: boolean;
  requests: Entry[];
  before: string | null;
}

const mostRefreshed = 4;

/**
 * The account's requests of the last day.
 *
 * @param about initial search text, for the section about one address.
 */
export function RequestLog({ about = "" }: { about?: string }) {
  const [failed, setFailed] = useState(false);
  const [key, setKey] = useState("");
  const [search, setSearch] = useState(about);
  const wanted = useSettled(search.trim());
  const keys = useQuery({ queryKey: ["keys"], queryFn: () => api.get("/v0/me/keys"), staleTime: 60_000 });
  const found = useInfiniteQuery({
    queryKey: ["requests", failed, key, wanted],
    queryFn: ({ pageParam }) => {
      const query = { failed: failed ? "1" : "", key, search: wanted, before: pageParam };
      const sent = Object.entries(query).filter(([, value]) => value !== "");
      return ask<Page>(`/console/requests?${new URLSearchParams(sent)}`);
    },
    initialPageParam: "",
    getNextPageParam: ({ before }) => before ?? undefined,
    // The list that is being read stays until the new one arrives.
    placeholderData: (before) => before,
    // A refresh would request every page shown.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > mostRefreshed ? false : 5_000),
    refetchIntervalInBackground: false,
  });
  const requests = found.data?.pages.flatMap((page) => page.requests) ?? [];
  const isKept = found.data?.pages.every((page) => page.kept) ?? true;
  const Heading = about ? "h3" : "h2";
  const isFiltered = failed || key !== "" || wanted !== "";
  return (
    <section className={about ? "stack" : "card stack"} aria-labelledby="requests">
      <Heading id="requests">Requests of the last day</Heading>
      <p className="quiet">
        What was sent with your keys, without bodies, headers and variables. Of a console that is signed in with a
        wallet: what it changed, and what it could not read; its other reads are only counted.
        {about && " Calls of GraphQL have addresses in their variables: all of them are on the page Account."}
      </p>
      {!isKept && <p className="notice">The operator of this installation has switched the log off.</p>}
      <div className="fields">
        <label>
          Search
          <input
            type="search"
            value={search}
            maxLength={100}
            autoComplete="off"
            placeholder="Path, operation, error or request id"
            onChange={(event) => setSearch(event.target.value)}
          />
        </label>
        <label>
          Key
          <select value={key} onChange={(event) => setKey(event.target.value)}>
            <option value="">all</option>
            {keys.data?.keys.map((one) => (
              <option key={one.id} value={one.id}>
                {one.wallet ? `session of ${shortAddress(one.wallet)}` : one.name}
              </option>
            ))}
          </select>
        </label>
        <label className="check">
          <input type="checkbox" checked={failed} onChange={(event) => setFailed(event.target.checked)} />
          only failed
        </label>
      </div>
      <ErrorNotice error={found.error} />
      {found.isPending && <Loading what="requests" />}
      {found.data && isKept && requests.length === 0 && (
        <p className="quiet">
          {isFiltered ? "No request of the last day is like that." : "No request in the last day."}
        </p>
      )}
      {requests.length > 0 && <Entries requests={requests} />}
      {found.hasNextPage && (
        <p>
          <button type="button" disabled={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Load more requests
          </button>
        </p>
      )}
    </section>
  );
}

/** The typed text, once it has not changed for a moment: each search scans all entries. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), 300);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
}

function Entries({ requests }: { requests: readonly Entry[] }) {
  return (
    <Table label="Table of requests" heads={["When", "Request", "Answer", "Took", "Key", "Request id"]}>
      {requests.map((entry) => (
        <tr key={entry.id}>
          <td>
            <Time at={entry.at} />
          </td>
          <td>
            <code className="path" title={entry.route}>
              {entry.method} {entry.operation ?? entry.path}
            </code>
            {entry.fields && <div className="small quiet">{entry.fields}</div>}
            {entry.skipped > 0 && (
              <div className="small quiet">and {entry.skipped.toLocaleString()} more until then that are not kept</div>
            )}
          </td>
          <td>
            <span className={`badge ${entry.status >= 400 || entry.code ? "warn" : ""}`}>{entry.status}</span>
            {entry.code && <div className="small">{entry.code}</div>}
          </td>
          <td>
            {entry.ms.toLocaleString()}
            {"\u00a0"}ms
          </td>
          <td>{nameOf(entry)}</td>
          <td>
            <span className="address">
              <code title={entry.request_id}>{entry.request_id.slice(0, 12)}…</code>
              <Copy text={entry.request_id} what={`the request id ${entry.request_id.slice(0, 12)}`} />
            </span>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function nameOf({ key, wallet }: Entry): string {
  if (key) return key.name;
  return wallet ? `session of ${shortAddress(wallet)}` : "session";
}
