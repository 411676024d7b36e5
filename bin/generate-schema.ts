// Writes schema/schema.graphql, schema/openapi.json and deploy/roles.sql from the code: `npm run generate`.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { lexicographicSortSchema, printSchema } from "graphql";
import { rolesFile } from "../schema/analyst-admin.ts";
import { createSchema } from "../src/graphql/schema.ts";
import { createOpenApi } from "../src/rest/openapi.ts";

const folder = join(import.meta.dirname, "../schema");
writeFileSync(join(folder, "schema.graphql"), `${printSchema(lexicographicSortSchema(createSchema()))}\n`);
writeFileSync(join(folder, "openapi.json"), `${JSON.stringify(createOpenApi(), null, 2)}\n`);
writeFileSync(join(folder, "../deploy/roles.sql"), rolesFile());
