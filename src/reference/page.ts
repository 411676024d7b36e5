import { html } from "hono/html";
import { anchorOf, type Example, type Task } from "./example.ts";
import { allFailures, commonFailures, type Failure, ownFailures } from "./failures.ts";
import { codeBlock, parameterTable, withCode } from "./markup.ts";
import { graphqlRows, restRows } from "./parameters.ts";
import { Schemas } from "./schemas.ts";
import { type Snippet, snippetsOf } from "./snippets.ts";
import { tasks } from "./tasks.ts";

/** What a page needs to know of its server. */
export interface ReferenceOptions {
  chains: readonly string[];
  /** Whether a server serves it, so that it can link to the server's other pages. */
  served: boolean;
}

/** The reference of both APIs: its sidebar and its content. */
export function renderReference({ chains, served }: ReferenceOptions) {
  const schemas = new Schemas();
  const main = html`<h1>API reference</h1>
<p>REST and GraphQL offer the same functions. Send your key in the header <code>Authorization</code>, without a scheme such as Bearer. Token ids and amounts of wei are strings, because they can exceed the range of JSON numbers. The examples in TypeScript use <code>@mintyard/client</code>.</p>
${served ? serverLinks : ""}
${valuesForm(chains)}
${tasks.map((task) => section(schemas, task))}
${errorSection()}`;
  return { side: sideOf(), main };
}

const serverLinks = html`<p><a href="/docs/start">Quick start</a>, <a href="/docs/guide">guides</a>, <a href="/graphql">GraphiQL</a> to try GraphQL in this browser, <a href="/docs/openapi.json">OpenAPI 3.1</a>.</p>`;

/** Shown by a script, because without one it would have no effect. */
function valuesForm(chains: readonly string[]) {
  const field = (name: string, label: string, hint: string) =>
    html`<div><label for="value-${name}">${label}</label><input id="value-${name}" data-name="${name}" autocomplete="off" spellcheck="false" placeholder="${hint}" ${name === "chain" ? html`list="chains"` : ""} /></div>`;
  return html`<section class="card values" aria-labelledby="values" hidden>
<h2 id="values">Your values</h2>
<p class="small quiet">Every example shows them. They stay in this browser, and a key until the tab is closed.</p>
<div class="fields">${field("chain", "Chain", "polygon")}${field("key", "Key", "$MINTYARD_KEY")}${field("collection", "Collection", "0x…")}${field("contract", "Contract", "0x…")}${field("wallet", "Wallet", "0x…")}</div>
<datalist id="chains">${chains.map((name) => html`<option value="${name}"></option>`)}</datalist>
</section>`;
}

function sideOf() {
  const links = (task: Task) =>
    task.examples.map((example) => html`<li><a href="#${anchorOf(example)}">${example.title}</a></li>`);
  const list = tasks.map(
    (task) => html`<li><a href="#${slug(task.title)}">${task.title}</a><ul>${links(task)}</ul></li>`,
  );
  return html`<details class="side" open><summary>Operations</summary>
<div class="filter" role="search" aria-label="Operations" hidden><label for="filter">Filter</label><input id="filter" type="search" autocomplete="off" placeholder="title, path or field" /><p class="small quiet" aria-live="polite"></p></div>
<nav aria-label="Operations"><ul>${list}<li><a href="#errors">Errors</a></li></ul></nav></details>`;
}

function slug(text: string): string {
  return text.toLowerCase().replaceAll(/\W+/g, "-");
}

function section(schemas: Schemas, { title, about, examples }: Task) {
  return html`<section class="task"><h2 id="${slug(title)}">${title}</h2>
<p>${withCode(about)}</p>
${examples.map((example) => operation(schemas, example))}</section>`;
}

function operation(schemas: Schemas, example: Example) {
  const { rest, graphql, title, note } = example;
  const anchor = anchorOf(example);
  const { curl, graphql: documents, typescript } = snippetsOf(schemas, example);
  const described = rest === undefined ? null : schemas.operationOf(example);
  const field = graphql === undefined ? null : schemas.fieldOf(example);
  const [method = "", path = ""] = rest?.split(" ") ?? [];
  const names = [...(described ? [`${method.toUpperCase()} ${path}`] : []), ...(graphql ? [graphql] : [])];
  return html`<article class="operation" id="${anchor}">
<div class="titled"><h3>${title}</h3><a class="anchor" href="#${anchor}" aria-label="Link to ${title}: ${names[0]}">#</a></div>
<p class="names">${names.map((name) => html`<code>${name}</code> `)}</p>
<p>${withCode(described?.description ?? field?.description ?? "")}</p>
${described && field?.description ? html`<p class="small quiet">In GraphQL: ${withCode(field.description)}</p>` : ""}
${note ? html`<p>${withCode(note)}</p>` : ""}
<div class="tabs">${panel("curl", "curl", curl)}${documents ? panel("graphql", "GraphQL", documents) : ""}${panel("typescript", "TypeScript", typescript)}</div>
${described ? parameters("REST", names[0] ?? "", restRows(described)) : ""}
${field ? parameters("GraphQL", rest ? `${graphql} for ${names[0]}` : (graphql ?? ""), graphqlRows(field)) : ""}
${described ? answer(described.responses["200"]?.content?.["application/json"]?.example) : ""}
<details><summary>Errors</summary>${described ? failureTable(`Errors of ${names[0]}`, ownFailures(described), false) : ""}
<p>As of any operation: ${commonFailures().map(({ code }, at) => html`${at > 0 ? ", " : ""}<a href="#error-${code}"><code>${code}</code></a>`)}.${field && graphql?.startsWith("mutation") ? html` A mutation has what its caller can mend in <code>userErrors</code>.` : ""}</p></details>
</article>`;
}

function panel(tab: string, title: string, snippets: readonly Snippet[]) {
  return html`<div class="panel" data-tab="${tab}"><h4>${title}</h4>${snippets.map(codeBlock)}</div>`;
}

function parameters(api: string, of: string, rows: ReturnType<typeof restRows>) {
  if (rows.length === 0) return "";
  return html`<details><summary>${api} parameters (${rows.length})</summary>${parameterTable(of, rows)}</details>`;
}

function answer(example: unknown) {
  if (example === undefined) return "";
  const text = JSON.stringify(example, null, 2);
  return html`<details><summary>REST answer</summary>${codeBlock({ label: "TypeScript", kind: "variables", text })}</details>`;
}

function failureTable(label: string, failures: readonly Failure[], anchored: boolean) {
  if (failures.length === 0) return "";
  const rows = failures.map(
    ({ code, status, cause, fix, retryable }) =>
      html`<tr ${anchored ? html`id="error-${code}"` : ""}><td><code>${code}</code></td><td>${status}</td><td>${withCode(cause)}</td><td>${withCode(fix)}${retryable ? " The same request may succeed later." : ""}</td></tr>`,
  );
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${label}"><table><thead><tr><th>Code</th><th>Status</th><th>Cause</th><th>Fix</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function errorSection() {
  return html`<section class="task"><h2 id="errors">Errors</h2>
<p>REST answers an error in the member <code>error</code>, GraphQL in <code>errors</code> with its code in <code>extensions.code</code>. Compare the code, which is never renamed. Where GraphQL says <code>rate_limit_exceeded</code>, REST says <code>too_many_requests</code>.</p>
${failureTable("All errors", allFailures(), true)}</section>`;
}
