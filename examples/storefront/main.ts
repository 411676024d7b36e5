import { createClient, MintyardError } from "@mintyard/client";
import { pictureOf, showToken, showTransfer } from "./cards.ts";
import { collectionQuery } from "./documents.ts";

/** A setting of the build; README.md has them all. */
function setting(name: string): string {
  const value: unknown = import.meta.env[`VITE_MINTYARD_${name}`];
  if (typeof value === "string" && value !== "") return value;
  throw new Error(`VITE_MINTYARD_${name} is not set: see README.md`);
}

function element(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`index.html has no element ${id}`);
  return found;
}

/** Adds the tokens behind a cursor; the transfers are those of the first page. */
async function load(after: string | null): Promise<void> {
  const url = setting("URL");
  const mintyard = createClient({ url, key: setting("KEY") });
  const place = { chain: setting("CHAIN"), address: setting("CONTRACT") };
  const { contract } = await mintyard.graphql(collectionQuery, { ...place, after });
  if (!contract) throw new Error(`${place.chain} has no contract ${place.address} that the service knows`);
  element("name").textContent = contract.name ?? place.address;
  document.title = contract.name ?? "Storefront";
  const tokens = contract.nfts?.nodes ?? [];
  element("tokens").append(...tokens.map((token) => showToken(token, pictureOf(token, url))));
  if (after === null) element("transfers").append(...(contract.transfers?.nodes ?? []).map(showTransfer));
  const { hasNextPage, endCursor } = contract.nfts?.pageInfo ?? { hasNextPage: false, endCursor: null };
  const more = element("more");
  more.hidden = !hasNextPage;
  more.onclick = () => void show(endCursor);
}

/** Says what the service says where it refuses: a visitor's report then names the request. */
async function show(after: string | null): Promise<void> {
  const notice = element("notice");
  notice.textContent = "Loading…";
  try {
    await load(after);
    notice.textContent = "";
  } catch (error) {
    const known = error instanceof MintyardError;
    notice.textContent = known ? `${error.message}: ${error.fix} (request ${error.requestId})` : String(error);
  }
}

await show(null);
