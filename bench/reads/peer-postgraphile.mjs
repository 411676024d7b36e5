// PostGraphile 5 over the views of peers.sql. Started by bench-reads.ts.
import { createServer } from "node:http";
import { postgraphile } from "postgraphile";
import { makePgService } from "postgraphile/adaptors/pg";
import { grafserv } from "postgraphile/grafserv/node";
import { PostGraphileAmberPreset } from "postgraphile/presets/amber";

const preset = {
  extends: [PostGraphileAmberPreset],
  pgServices: [makePgService({ connectionString: process.argv[2], schemas: ["peer"], poolConfig: { max: 10 } })],
  grafserv: { graphiql: false, watch: false },
  grafast: { explain: false },
};
const server = createServer();
const serve = postgraphile(preset).createServ(grafserv);
await serve.addTo(server);
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => process.send?.({ port: server.address().port }));
