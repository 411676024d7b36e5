import type { Hono } from "hono";
import { html, raw } from "hono/html";
import type { AppEnv } from "../http/app-env.ts";
import type { WebPages } from "./web-pages.ts";

interface Guide {
  anchor: string;
  who: string;
  text: string;
  steps: readonly { say: string; code: string }[];
  more: readonly { to: string; name: string }[];
}

const json = `-H "Authorization: $API_KEY" -H "Content-Type: application/json"`;

/** The shortest way to something that works, for each kind of user; a test runs whatever can be run. */
export const guides: readonly Guide[] = [
  {
    anchor: "frontend",
    who: "Frontends, over GraphQL",
    text: "One endpoint for what accounts hold, collections, traits, transfers and deployments. Relay connections, so Apollo, urql and Relay page by themselves.",
    steps: [
      {
        say: "What an account holds:",
        code: `curl -sS ${json} $BASE/graphql -d '{"query":"{ account(address: \\"0x25d5bf305aa1fbd778b05aaa454405d0094cfa96\\") { nfts(chain: \\"goerli\\", first: 20) { totalCount nodes { tokenId name fileUrl contract { address name } } } } }"}'`,
      },
    ],
    more: [{ to: "/graphql", name: "GraphiQL with samples" }],
  },
  {
    anchor: "legacy",
    who: "Clients of the former services, over /v0",
    text: "The paths, bodies and error codes are those you know. Change the base URL and the key; a key may be a UUID, as before. What is not built answers 501.",
    steps: [
      {
        say: "The same account:",
        code: `curl -sS -H "Authorization: $API_KEY" "$BASE/v0/accounts/0x25d5bf305aa1fbd778b05aaa454405d0094cfa96?chain=goerli"`,
      },
    ],
    more: [
      { to: "/docs", name: "Every operation, with examples" },
      { to: "/docs/openapi.json", name: "OpenAPI" },
    ],
  },
  {
    anchor: "creator",
    who: "Creators",
    text: "Store files, then deploy a collection; the answer has the transaction's hash and the address that the collection will have. Try it without spending anything first.",
    steps: [
      {
        say: "A file:",
        code: `echo hello > hello.txt && curl -sS -H "Authorization: $API_KEY" -F file=@hello.txt $BASE/v0/files`,
      },
      { say: "What your plan allows:", code: `curl -sS -H "Authorization: $API_KEY" $BASE/v0/me/settings` },
    ],
    more: [{ to: "/docs#post-v0-contracts-collections", name: "POST /v0/contracts/collections, with dry_run" }],
  },
  {
    anchor: "analyst",
    who: "Analysts, over SQL",
    text: "Schema analytics has tokens, holdings, transfers, traits and collections as documented views, and nothing about users. An operator makes a login that can read them and nothing else: npm run -s mintyard -- analyst create --name ada",
    steps: [
      {
        say: "With the connection string that it printed:",
        code: `psql "$CONNECTION" -c "SELECT chain_id, count(*) FROM collections GROUP BY chain_id"`,
      },
    ],
    more: [],
  },
  {
    anchor: "operator",
    who: "Operators",
    text: "One command runs everything on embedded parts; each part is replaced by naming yours in the environment. Look at /readyz, /status and /metrics.",
    steps: [
      {
        say: "Start it, and open an account:",
        code: "npm start\nnpm run -s mintyard -- accounts create --name studio --tier growth",
      },
      { say: "How it is:", code: `curl -sS "$BASE/readyz"` },
    ],
    more: [{ to: "/status", name: "Status" }],
  },
];

/** `/docs/start`: how to begin. */
export function addStartPage(app: Hono<AppEnv>, pages: WebPages): void {
  const section = ({ anchor, who, text, steps, more }: Guide) => html`<h2 id="${anchor}">${who}</h2>
<p>${text}</p>
${steps.map(({ say, code }) => html`<p>${say}</p>${codeBlock(code)}`)}
${more.length > 0 ? html`<p>${more.map(({ to, name }) => html`<a href="${to}">${name}</a> `)}</p>` : raw("")}`;
  const body = html`<h1>Quick start</h1>
<p>For ${guides.map(({ anchor, who }, index) => html`${index > 0 ? "; " : ""}<a href="#${anchor}">${who}</a>`)}.
You need a key: ask your operator, or, where sign-up is open, <code>curl -sS $BASE/v0/signup -d '{"name":"studio"}'</code>.</p>
${codeBlock("BASE=http://127.0.0.1:3000\nAPI_KEY=…")}
${guides.map(section)}`;
  const head = { title: "Quick start – Mintyard API", description: "The shortest way to something that works." };
  app.get("/docs/start", async (c) => await pages.document(c, head, body));
}

/** A command or a program, with a button that copies it. */
function codeBlock(code: string) {
  return html`<div class="code"><pre tabindex="0">${code}</pre><button type="button" class="copy">Copy</button></div>`;
}
