import { findDeployedContract } from "../collections/find-deployed-contract.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { Input } from "./input.ts";

export function addContracts(app: V0App, services: Services): void {
  app.get("/contracts/:hash", async (c) => {
    const input = Input.fromQuery(new URL(c.req.url).searchParams);
    const chain = input.text("chain", { required: true });
    input.check();
    const transactionHash = c.req.param("hash");
    const address = await findDeployedContract(services, c.get("caller"), { chain: chain ?? "", transactionHash });
    return ok(c, { chain, contract_address: address, transaction_hash: transactionHash });
  });
}
