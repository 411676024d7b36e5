import { type GraphQLResolveInfo, valueFromASTUntyped } from "graphql";
import type { GraphQLContext } from "./builder.ts";

/** The argument `input` of a field as the client wrote it: scalars have one spelling once they are read. */
export function writtenInput(
  { fieldNodes }: Pick<GraphQLResolveInfo, "fieldNodes">,
  { params }: GraphQLContext,
): Record<string, unknown> {
  const argument = fieldNodes[0]?.arguments?.find(({ name }) => name.value === "input");
  const written = argument && valueFromASTUntyped(argument.value, params?.variables);
  return typeof written === "object" && written !== null ? (written as Record<string, unknown>) : {};
}
