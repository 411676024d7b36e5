import type { ShownUrl } from "../auth/request-log.ts";
import { queryNames } from "../rest/openapi.ts";
import { routeTemplates } from "./route-templates.ts";

/** Query parameters whose values are logged too. Search texts and names are users' data, and cursors say nothing. */
const shownValues = new Set([
  ...["chain", "include", "exclude", "type", "types", "page_number", "page_size", "order_by", "sort_order", "state"],
  ...["contract_address", "filter_by_contract_address", "contract", "account", "tokenId", "from_block", "to_block"],
  ...["finality", "dry_run", "warnings", "refresh_metadata", "start_date", "end_date"],
]);

/**
 * An address, a hash, a number, one of our ids, or a short word. Our keys are longer than a word and match none of
 * these, also where one stands in a path.
 */
const plain = /^(0x[0-9a-f]{1,64}|\d{1,78}|(key|wh)_[0-9a-f]{32}|[\w.,:-]{1,24})$/i;
const mostParameters = 20;
const mostSegments = 8;
const hidden = "…";

/** @returns a function that reduces a URL to its route, and its path without anything that could be secret. */
export function urlShower(): (url: string) => ShownUrl {
  const routeOf = routeTemplates();
  const known = queryNames();
  const shown = (text: string) => (plain.test(text) ? text : hidden);
  return (url) => {
    const [path = "", query = ""] = url.split("?", 2);
    const segments = path.split("/").slice(1);
    const more = segments.length > mostSegments ? `/${hidden}` : "";
    const parameters = query === "" ? [] : query.split("&").slice(0, mostParameters);
    const pairs = parameters.map((pair) => {
      const [name = "", value = ""] = pair.split("=", 2);
      if (!known.has(name)) return hidden;
      return `${name}=${shownValues.has(name) && value !== "" ? shown(value) : hidden}`;
    });
    const text = segments.slice(0, mostSegments).map((segment) => (segment === "" ? "" : shown(segment)));
    return {
      route: routeOf(url),
      path: `/${text.join("/")}${more}${pairs.length > 0 ? `?${pairs.join("&")}` : ""}`,
    };
  };
}
