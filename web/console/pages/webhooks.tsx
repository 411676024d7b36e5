import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import type { Answer, Input } from "../../../client/src/rest.ts";
import { api } from "../api.ts";
import { DangerButton } from "../danger-button.tsx";
import { ErrorNotice, Loading } from "../notices.tsx";
import { Deliveries } from "../webhooks/deliveries.tsx";

type WebhookList = Answer<"get", "/v1/webhooks">;
type Webhook = WebhookList["webhooks"][number];

const waits: Record<string, string> = {
  failed: "A thousand messages failed and wait for their next try. New ones wait until some got through.",
  tries: "The plan's messages of the day are used. What happens now is sent tomorrow (UTC).",
  rate: "Its host was sent as many messages as it may be in a second. The others follow in a moment.",
  storage: "The service's storage is nearly full. Messages wait until there is room.",
};

const types = ["nft.transfer", "metadata.updated", "metadata.failed", "deployment", "update", "chain.finalized"];

/** The endpoints that receive this account's events: create, test and pause them, and see every try of a delivery. */
export function WebhooksPage() {
  const client = useQueryClient();
  const found = useQuery({
    queryKey: ["webhooks"],
    queryFn: () => api.get("/v1/webhooks"),
    refetchInterval: 10_000,
  });
  const [secret, setSecret] = useState<string | null>(null);
  const create = useMutation({
    mutationFn: (body: Input<"post", "/v1/webhooks">["body"]) => api.post("/v1/webhooks", { body }),
    onSuccess: ({ secret: made }) => {
      setSecret(made);
      void client.invalidateQueries({ queryKey: ["webhooks"] });
    },
  });
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const wanted = form.getAll("type").map(String);
    create.mutate({
      url: text("url"),
      ...(text("description") ? { description: text("description") } : {}),
      ...(wanted.length > 0 ? { types: wanted } : {}),
      ...(text("contracts") ? { contracts: text("contracts").split(/[\s,]+/) } : {}),
    });
  };
  return (
    <div className="stack">
      <h1>Webhooks</h1>
      <p className="quiet">
        Events are sent to your server once it has said that it wants them, signed and tried again until it answers.{" "}
        <a href="/docs/guide/events">How</a>
      </p>
      {found.isPending && <Loading what="your endpoints" />}
      <ErrorNotice error={found.error} />
      {found.data?.webhooks.length === 0 && <p className="card">No endpoint yet.</p>}
      {found.data?.webhooks.map((webhook) => (
        <Endpoint key={webhook.id} webhook={webhook} />
      ))}
      {secret && (
        <div className="notice" role="status">
          <p>The new endpoint's secret. It can be seen this once:</p>
          <code>{secret}</code>
        </div>
      )}
      <form className="card stack" aria-labelledby="new-endpoint" onSubmit={submit}>
        <h2 id="new-endpoint">New endpoint</h2>
        <div className="fields">
          <label>
            URL
            <span className="hint">https, reachable from this server</span>
            <input name="url" type="url" required autoComplete="off" spellCheck="false" />
          </label>
          <label>
            Description
            <span className="hint">For you</span>
            <input name="description" maxLength={200} autoComplete="off" />
          </label>
        </div>
        <label>
          Contracts
          <span className="hint">Addresses with a space between. A free plan needs them for events of the chain</span>
          <input name="contracts" autoComplete="off" spellCheck="false" />
        </label>
        <fieldset className="row">
          <legend className="label">Only these events; none chosen: all</legend>
          {types.map((type) => (
            <label key={type} className="check">
              <input type="checkbox" name="type" value={type} />
              {type}
            </label>
          ))}
        </fieldset>
        <p>
          <button type="submit" className="main" disabled={create.isPending}>
            Make the endpoint
          </button>
        </p>
        <ErrorNotice error={create.error} />
      </form>
    </div>
  );
}

/** An endpoint's answer to its challenge, and when the challenge is sent again. */
function Verification({ webhook }: { webhook: Webhook }) {
  const { verificationTry: last, verificationAt: next } = webhook;
  return (
    <p className="notice warn">
      It is sent nothing else until it has answered a challenge: a message <code>webhook.verification</code>, with the
      text in <code>data.challenge</code>.{" "}
      {last && `At ${new Date(last.at).toLocaleString()} it answered ${last.status ?? "nothing"} (${last.fault}). `}
      {next ? `It is asked again at ${new Date(next).toLocaleString()}.` : "It is asked no more until you do."}
    </p>
  );
}

function Endpoint({ webhook }: { webhook: Webhook }) {
  const client = useQueryClient();
  const { id, url, description, state, disabledReason, waiting, failingSince } = webhook;
  const act = useMutation({
    mutationFn: (run: () => Promise<unknown>) => run(),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["webhooks"] });
      await client.invalidateQueries({ queryKey: ["deliveries", id] });
    },
  });
  const path = { id };
  const post = (word: "verify" | "test" | "pause" | "resume") =>
    act.mutate(() => api.post(`/v1/webhooks/{id}/${word}`, { path }));
  return (
    <section className="card stack" aria-label={`Endpoint ${url}`}>
      <div className="row apart">
        <h2>
          <code>{url}</code>
        </h2>
        <span className={`badge ${state === "enabled" ? "" : "off"}`}>
          {state}
          {disabledReason ? `: ${disabledReason}` : ""}
        </span>
      </div>
      {description && <p className="quiet">{description}</p>}
      <p className="small quiet">{webhook.types.length === 0 ? "All events" : webhook.types.join(", ")}</p>
      {failingSince && (
        <p className="notice warn">Its tries have failed since {new Date(failingSince).toLocaleString()}.</p>
      )}
      {state === "unverified" && <Verification webhook={webhook} />}
      {waiting && waiting !== "verification" && <p className="notice">{waits[waiting] ?? waiting}</p>}
      <div className="row">
        {state === "unverified" ? (
          <button type="button" disabled={act.isPending} onClick={() => post("verify")}>
            Ask it now
          </button>
        ) : (
          <button type="button" disabled={act.isPending} onClick={() => post("test")}>
            Send a test event
          </button>
        )}
        {state === "enabled" || state === "unverified" ? (
          <button type="button" disabled={act.isPending} onClick={() => post("pause")}>
            Pause
          </button>
        ) : (
          <button type="button" disabled={act.isPending} onClick={() => post("resume")}>
            Resume
          </button>
        )}
        <DangerButton
          word="Delete"
          of={`the endpoint ${url}`}
          loss="Its deliveries and its secret go too."
          disabled={act.isPending}
          act={() => act.mutate(() => api.delete("/v1/webhooks/{id}", { path }))}
        />
      </div>
      <ErrorNotice error={act.error} />
      <Deliveries id={id} />
    </section>
  );
}
