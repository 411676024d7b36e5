import type { Entry } from "./attack.ts";
import { graphqlAttacks } from "./attacks-graphql.ts";
import { pageAttacks } from "./attacks-pages.ts";
import { restAttacks } from "./attacks-rest.ts";

/** How each operation of the product is attacked, by its name (`listOperations`). */
export const attackTable: Readonly<Record<string, Entry>> = { ...restAttacks, ...graphqlAttacks, ...pageAttacks };
