import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { Answer, Input } from "../../../client/src/rest.ts";
import { formatBytes, shortAddress } from "../../shared/amounts.ts";
import { Copy } from "../address.tsx";
import { api } from "../api.ts";
import { DangerButton } from "../danger-button.tsx";
import { ErrorNotice, Loading } from "../notices.tsx";
import { RequestLog } from "../request-log.tsx";
import { Table } from "../table.tsx";
import { Time } from "../time.tsx";

type Settings = Answer<"get", "/v0/me/settings">;
type Scope = NonNullable<Input<"post", "/v0/me/keys">["body"]["scopes"]>[number];
const scopes: readonly Scope[] = ["read", "upload", "deploy", "admin"];

const time = (text: string | null | undefined) => (!text ? "–" : <Time at={text} />);

export function AccountPage() {
  const settings = useQuery({ queryKey: ["settings"], queryFn: () => api.get("/v0/me/settings") });
  return (
    <div className="stack">
      <h1>Account</h1>
      <ErrorNotice error={settings.error} />
      {settings.data ? <Usage settings={settings.data} /> : settings.isPending && <Loading what="your account" />}
      <Keys />
      <RequestLog />
    </div>
  );
}

function Usage({ settings }: { settings: Settings }) {
  const { data_usage: reads, data_limits: most } = settings.data_usage_and_limits;
  const { storage_usage: stored, storage_limits: room } = settings.storage_usage_and_limits;
  const { transaction_usage: sent, transaction_limits: allowed } = settings.transaction_usage_and_limits;
  const of = (limit: number | null, text = (value: number) => value.toLocaleString()) =>
    // 2^31 - 1 is what clients of the original service expect for no limit.
    limit === null || limit === 2 ** 31 - 1 ? ", without a limit" : ` of ${text(limit)}`;
  return (
    <section className="card" aria-labelledby="usage">
      <h2 id="usage">{settings.profile.name}</h2>
      <dl className="facts">
        <dt>Requests this month</dt>
        <dd>
          {reads.subscription_data_requests_made.toLocaleString()}
          {of(most.max_data_requests_per_month)}
        </dd>
        <dt>Stored</dt>
        <dd>
          {formatBytes(stored.stored_bytes)}
          {of(room.max_stored_bytes, formatBytes)}
        </dd>
        <dt>Transactions today</dt>
        <dd>
          {sent.transactions_made_today.toLocaleString()}
          {of(allowed.max_transactions_per_day)}
        </dd>
      </dl>
    </section>
  );
}

function Keys() {
  const client = useQueryClient();
  const keys = useQuery({ queryKey: ["keys"], queryFn: () => api.get("/v0/me/keys") });
  const [secret, setSecret] = useState<string | null>(null);
  const again = () => client.invalidateQueries({ queryKey: ["keys"] });
  const create = useMutation({
    mutationFn: (body: Input<"post", "/v0/me/keys">["body"]) => api.post("/v0/me/keys", { body }),
    onSuccess: ({ api_key }) => {
      setSecret(api_key);
      void again();
    },
  });
  const revoke = useMutation({
    mutationFn: (id: string) => api.delete("/v0/me/keys/{id}", { path: { id } }),
    onSuccess: again,
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const { currentTarget } = event;
    create.mutate(
      {
        name: String(form.get("name")),
        scopes: scopes.filter((scope) => form.getAll("scope").includes(scope)),
      },
      // A second press would create a second key.
      { onSuccess: () => currentTarget.reset() },
    );
  };
  const working = keys.data?.keys.filter(
    ({ revoked_at, expires_at }) => !revoked_at && !(expires_at && new Date(expires_at) < new Date()),
  );
  return (
    <section className="card stack" aria-labelledby="keys">
      <h2 id="keys">Keys and sessions</h2>
      <ErrorNotice error={keys.error ?? create.error ?? revoke.error} />
      {secret && (
        <div className="notice" role="status">
          <p>The new key. It can be seen this once:</p>
          <p className="row">
            <code>{secret}</code>
            <Copy text={secret} what="the new key" />
          </p>
        </div>
      )}
      {working && (
        <Table
          label="Keys"
          heads={[
            "Name",
            "May",
            "Last used",
            "Ends",
            <span key="hidden" className="hidden">
              Actions
            </span>,
          ]}
        >
          {working.map((key) => (
            <tr key={key.id}>
              <td>{key.wallet ? `Browser of ${shortAddress(key.wallet)}` : key.name}</td>
              <td>{key.scopes.join(", ")}</td>
              <td>{time(key.last_used_at)}</td>
              <td>{time(key.expires_at)}</td>
              <td>
                <DangerButton
                  word="Revoke"
                  of={key.name}
                  loss="What uses it is refused from now on."
                  disabled={revoke.isPending}
                  act={() => revoke.mutate(key.id)}
                />
              </td>
            </tr>
          ))}
        </Table>
      )}
      <form className="stack" onSubmit={submit} aria-label="New key">
        <div className="fields">
          <label>
            Name of a new key
            <input name="name" required maxLength={100} autoComplete="off" />
          </label>
          <fieldset className="row">
            <legend className="label">It may</legend>
            {scopes.map((scope) => (
              <label key={scope} className="check">
                <input type="checkbox" name="scope" value={scope} defaultChecked={scope === "read"} />
                {scope}
              </label>
            ))}
          </fieldset>
        </div>
        <p>
          <button type="submit">Make a key</button>
        </p>
      </form>
    </section>
  );
}
