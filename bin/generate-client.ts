// Writes client/src/generated from schema/openapi.json and schema/schema.graphql: `npm run generate`.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clientTypes } from "./generate-client-types.ts";

const folder = join(import.meta.dirname, "../client/src/generated");
mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries(await clientTypes())) writeFileSync(join(folder, name), text);
