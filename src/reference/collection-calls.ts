import { anchorOf, type CollectionCall } from "./example.ts";
import { Schemas } from "./schemas.ts";
import { snippetsOf } from "./snippets.ts";
import { tasks } from "./tasks.ts";

/** The first calls that a collection's frontend needs, in order. */
const chosen = [
  "query collection",
  "get /v0/nfts/{contract_address}",
  "get /v0/transactions/stats/{contract_address}",
  "get /v0/transactions/nfts/{contract_address}",
  "query eligibility",
  "subscription collection",
  "subscription transfers",
  "put /v0/contracts/collections",
];

/** @throws Error for a call that the reference does not have. */
export function collectionCalls(): CollectionCall[] {
  const schemas = new Schemas();
  const examples = tasks.flatMap((task) => task.examples);
  return chosen.map((operation) => {
    const example = examples.find(({ rest, graphql }) => (rest ?? graphql) === operation);
    if (!example) throw new Error(`the reference has no example of ${operation}`);
    const { curl, graphql, typescript } = snippetsOf(schemas, example);
    const texts = (snippets: readonly { text: string }[] | null) => snippets?.map(({ text }) => text) ?? [];
    const forms = { curl: texts(curl), GraphQL: texts(graphql), TypeScript: texts(typescript) };
    return { title: example.title, anchor: anchorOf(example), forms };
  });
}
