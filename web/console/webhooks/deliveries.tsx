import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api.ts";
import { ErrorNotice, Loading } from "../notices.tsx";

const pageSize = 50;
const words = { pending: "waits", delivered: "delivered", dead: "given up" };

/** The messages sent to an endpoint, each with its tries; any of them can be sent again. */
export function Deliveries({ id }: { id: string }) {
  const client = useQueryClient();
  const [state, setState] = useState<keyof typeof words | "">("");
  const found = useInfiniteQuery({
    queryKey: ["deliveries", id, state],
    queryFn: ({ pageParam }) =>
      api.get("/v1/webhooks/{id}/deliveries", {
        path: { id },
        query: { ...(state ? { state } : {}), ...(pageParam ? { before: pageParam } : {}) },
      }),
    initialPageParam: "",
    getNextPageParam: ({ deliveries }) => (deliveries.length < pageSize ? undefined : deliveries.at(-1)?.id),
    refetchInterval: 5_000,
  });
  const replay = useMutation({
    mutationFn: (body: { failed: true } | { eventId: string }) =>
      api.post("/v1/webhooks/{id}/replay", { path: { id }, body }),
    onSuccess: () => client.invalidateQueries({ queryKey: ["deliveries", id] }),
  });
  const deliveries = found.data?.pages.flatMap((page) => page.deliveries) ?? [];
  return (
    <details>
      <summary>Deliveries</summary>
      <div className="stack">
        <div className="row">
          <label>
            Shown
            <select value={state} onChange={(event) => setState(event.target.value as typeof state)}>
              <option value="">all</option>
              <option value="pending">waiting</option>
              <option value="delivered">delivered</option>
              <option value="dead">given up</option>
            </select>
          </label>
          <button type="button" disabled={replay.isPending} onClick={() => replay.mutate({ failed: true })}>
            Send all that were given up again
          </button>
        </div>
        {replay.data && <p role="status">{replay.data.replayed} will be sent again.</p>}
        <ErrorNotice error={found.error ?? replay.error} />
        {found.isPending && <Loading what="deliveries" />}
        {found.data && deliveries.length === 0 && <p className="quiet">Nothing was sent.</p>}
        <ul className="plain stack">
          {deliveries.map((delivery) => (
            <li key={delivery.id}>
              <details>
                <summary>
                  <code>{delivery.type}</code>{" "}
                  <span className={`badge ${delivery.state === "delivered" ? "" : "warn"}`}>
                    {words[delivery.state]}
                  </span>{" "}
                  <span className="small quiet">{new Date(delivery.createdAt).toLocaleString()}</span>
                </summary>
                <ol>
                  {delivery.tries.map(({ attempt, at, status, fault, milliseconds, answer }) => (
                    <li key={`${attempt} ${at}`}>
                      {new Date(at).toLocaleString()}: {status === null ? (fault ?? "no answer") : `status ${status}`}{" "}
                      in {milliseconds} ms
                      {answer ? <pre>{answer.slice(0, 500)}</pre> : null}
                    </li>
                  ))}
                </ol>
                {delivery.nextAt && (
                  <p className="small quiet">The next try is at {new Date(delivery.nextAt).toLocaleString()}.</p>
                )}
                <p className="row">
                  <button
                    type="button"
                    disabled={replay.isPending || delivery.type === "webhook.test"}
                    onClick={() => replay.mutate({ eventId: delivery.eventId })}
                  >
                    Send it again
                  </button>
                  <code className="small">{delivery.eventId}</code>
                </p>
              </details>
            </li>
          ))}
        </ul>
        {found.hasNextPage && (
          <button type="button" onClick={() => void found.fetchNextPage()}>
            More deliveries
          </button>
        )}
      </div>
    </details>
  );
}
