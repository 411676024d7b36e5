import { type ReportedDeployment, reportDeployment } from "../collections/report-deployment.ts";
import type { Builder } from "./builder.ts";
import { type UserError, userErrorType, withUserErrors } from "./user-errors.ts";

/** Which transaction of a creator's own wallet is the deployment of a request of mode SIGN. */
export function addReportDeployment(builder: Builder): void {
  const payload = builder
    .objectRef<{ result: ReportedDeployment | null; userErrors: readonly UserError[] }>("ReportDeploymentPayload")
    .implement({
      fields: (t) => ({
        collection: t.field({
          type: "Address",
          nullable: true,
          description: "Where the collection stands, or will when the transaction is mined.",
          resolve: ({ result }) => result?.address ?? null,
        }),
        userErrors: t.field({ type: [userErrorType(builder)], resolve: ({ userErrors }) => [...userErrors] }),
      }),
    });
  builder.mutationField("reportDeployment", (t) =>
    t.field({
      type: payload,
      nullable: true,
      description:
        "Names the transaction with which a wallet of the creator's deployed what `mode: SIGN` prepared. It decides, whoever else sent the same bytes; needed where the wallet is neither the owner nor the `sender` that was given.",
      args: {
        chain: t.arg({ type: "ChainName", required: true }),
        transactionHash: t.arg({ type: "Hex", required: true }),
      },
      resolve: async (_root, input, context) => {
        const caller = await context.caller();
        return await withUserErrors(() => reportDeployment(context.services, caller, input));
      },
    }),
  );
}
