import type { GraphQLContext } from "./builder.ts";

/** Among whose questions and streams those of a request count: the key's account, or the address that sent none that works. */
export async function askerOf(context: GraphQLContext): Promise<string> {
  const account = await context.caller().then(
    ({ accountId }) => accountId,
    () => null,
  );
  return account ?? `address:${context.address ?? ""}`;
}
