import type { Context } from "hono";
import { withFieldNames } from "../collections/problems.ts";
import { withDrainedBody } from "../http/drain-body.ts";
import { announcedBytes, readMultipart } from "../http/multipart.ts";
import { carryOut } from "../products/carry-out.ts";
import { easyMint, findEasyContract } from "../products/easy-mint.ts";
import type { Services } from "../services.ts";
import { refuseOverQuota } from "../uploads/admit-upload.ts";
import { uploadFile } from "../uploads/upload-file.ts";
import type { V0App, V0Env } from "./app.ts";
import { firstFile, otherBytes, otherParts } from "./files.ts";
import { Input } from "./input.ts";
import { readJsonObject } from "./json-body.ts";
import { answerTransaction } from "./mints.ts";
import { queryOf } from "./query.ts";

interface EasyRequest {
  chain: string;
  name: string;
  description: string;
  to: string;
}

/** POST /mints/easy/urls and /mints/easy/files: tokens of the service's own contract. */
export function addEasyMints(app: V0App, services: Services): void {
  app.post("/mints/easy/urls", async (c) => {
    const { jsonBodyBytes } = services.config.limits;
    const input = Input.fromBody(
      await readJsonObject(c.env.incoming, jsonBodyBytes, { account: c.get("caller").accountId }),
    );
    const request = readRequest(input);
    const fileUrl = input.text("file_url", { required: true }) ?? "";
    input.check();
    return await mint(c, services, request, fileUrl);
  });
  app.post("/mints/easy/files", (c) =>
    withDrainedBody(c, async () => {
      const input = Input.fromQuery(queryOf(c));
      const request = readRequest(input);
      input.check();
      const caller = c.get("caller");
      // Before the file is stored: where nothing can be minted, nothing is kept.
      findEasyContract(services, caller, request.chain);
      await refuseOverQuota(services, caller, announcedBytes(c.env.incoming));
      const bodyBytes = services.config.limits.fileBytes + otherBytes;
      const parts = readMultipart(c.env.incoming, { account: caller.accountId, parts: otherParts, bodyBytes });
      try {
        const { cid } = await uploadFile(services, caller, await firstFile(parts));
        return await mint(c, services, request, `ipfs://${cid}`);
      } finally {
        await parts.return(undefined);
      }
    }),
  );
}

function readRequest(input: Input): EasyRequest {
  const required = { required: true };
  return {
    chain: input.text("chain", required) ?? "",
    name: input.text("name", required) ?? "",
    description: input.text("description", { ...required, emptyIsText: true }) ?? "",
    to: input.address("mint_to_address", required) ?? "",
  };
}

async function mint(c: Context<V0Env>, services: Services, request: EasyRequest, fileUrl: string): Promise<Response> {
  const caller = c.get("caller");
  const idempotencyKey = c.req.header("Idempotency-Key");
  const run = async () =>
    await carryOut(services, caller, easyMint(services, caller, { ...request, fileUrl, idempotencyKey }));
  const done = await withFieldNames(run(), (field) => names[field] ?? field);
  const { chain, to, name, description } = request;
  return answerTransaction(c, done, chain, done.request.contract, { mint_to_address: to, name, description });
}

const names: Record<string, string> = {
  ...{ to: "mint_to_address", fileUrl: "file_url", uri: "file_url" },
  idempotencyKey: "Idempotency-Key",
};
