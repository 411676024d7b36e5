import SchemaBuilder from "@pothos/core";
import ComplexityPlugin from "@pothos/plugin-complexity";
import RelayPlugin from "@pothos/plugin-relay";
import { type GraphQLResolveInfo, valueFromASTUntyped } from "graphql";
import type { Address, Hex } from "viem";
import type { Caller, Session } from "../auth/caller.ts";
import { ServiceError } from "../errors/errors.ts";
import type { Services } from "../services.ts";
import type { UploadedFile } from "./multipart-request.ts";

export interface GraphQLContext {
  services: Services;
  requestId: string;
  /** The account behind the request's key. @throws ServiceError as the same check in `/v0` does. */
  caller(): Promise<Caller>;
  /** The caller with its key's scopes; only where the request came through the server. */
  session?(): Promise<Session>;
  /** The client's address; null: unknown. */
  address?: string | null;
  /** The request's GraphQL parameters; only where it came through the server. */
  params?: { variables?: Record<string, unknown> };
  /** Called with the error code when a mutation answers with user errors. */
  refused?: (code: string) => void;
}

export interface SchemaTypes {
  Context: GraphQLContext;
  Scalars: Scalars;
  DefaultFieldNullability: false;
}

/** The highest complexity of one operation: page sizes times fields, plus surcharges for expensive statements. */
export const maxComplexity = 15_000;

/** A builder with empty root types. Each `add…` function of this folder adds its own types. */
export function createBuilder() {
  const builder = new SchemaBuilder<SchemaTypes>({
    plugins: [ComplexityPlugin, RelayPlugin],
    defaultFieldNullability: false,
    complexity: {
      defaultComplexity: 1,
      defaultListMultiplier: 20,
      limit: { complexity: maxComplexity, depth: 12, breadth: 200 },
    },
    relay: {
      cursorType: "String",
      clientMutationId: "omit",
      encodeGlobalID: encodeId,
      decodeGlobalID: decodeId,
      nodeTypeOptions: {
        description: "An object that `node` returns by its id: an `Nft`, a `Contract` or an `Account`.",
      },
      idFieldOptions: {
        description: "A globally unique, opaque id, for `node` and for client caches.",
      },
      nodeQueryOptions: {
        description: "The object with this id. Null if it does not exist (any more).",
        args: { id: { description: "The `id` of an `Nft`, a `Contract` or an `Account`." } },
      },
      pageInfoTypeOptions: {
        description: "Whether the list continues, and the cursors of this page.",
      },
      hasNextPageFieldOptions: { description: "Whether there are items after this page." },
      hasPreviousPageFieldOptions: { description: "Whether there are items before this page." },
      startCursorFieldOptions: {
        description: "The cursor of the page's first item, for `before`. Null if the page is empty.",
      },
      endCursorFieldOptions: {
        description: "The cursor of the page's last item, for `after`. Null if the page is empty.",
      },
      nodesQueryOptions: {
        description: "The objects with these ids, in the same order; null in place of each that does not exist.",
        args: {
          ids: {
            description:
              "The `id` values of `Nft`, `Contract` or `Account` objects, up to 100 tokens and 100 contracts.",
          },
        },
        complexity: ({ ids }: { ids: readonly unknown[] }) => ({ field: 5, multiplier: ids.length }),
      },
    },
  });
  builder.queryType({
    description: "Reads: the NFT data of the chains, and the data of your account. Long lists are Relay connections.",
  });
  builder.mutationType({ description: "Writes: uploads, collections, mints, keys and webhooks." });
  return builder;
}

/** The chain of the object. */
export const chainField = { type: "ChainName", description: "The name of the chain, such as polygon." } as const;

/** A chain as an argument or input member. */
export const chainArg = {
  type: "ChainName",
  required: true,
  description: "The name of a chain of this installation, such as polygon.",
} as const;

/** An NFT contract as an argument or input member. */
export const contractArg = {
  type: "Address",
  required: true,
  description: "The address of the contract, in any letter case.",
} as const;

/** Descriptions of members that several operations share. */
export const sharedDescriptions = {
  dryRun: "Validate and simulate the request and return its cost. Nothing is stored or spent.",
  idempotencyKey:
    "An idempotency key of your choice, 1 to 200 ASCII characters. Requests with the same key are one request, at any time. Without a key, identical requests within ten minutes are one request.",
  royaltiesBps: "The royalty in basis points, 0 to 10000: 500 is 5 %.",
};

/** Types that `node(id:)` can fetch. */
const nodeTypes = ["Nft", "Contract", "Account"];

export type Builder = ReturnType<typeof createBuilder>;

/** The schema's types, as Pothos' field builders name them. */
export type Types = Builder extends PothosSchemaTypes.SchemaBuilder<infer T> ? T : never;

/** The members that were sent; null counts as absent. */
export function present<T extends object>(given: T): { [K in keyof T]: Exclude<T[K], null> } {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as {
    [K in keyof T]: Exclude<T[K], null>;
  };
}

/** A type that several files of this folder use: created once per builder. */
export function oncePerBuilder<T>(make: (builder: Builder) => T): (builder: Builder) => T {
  const made = new WeakMap<Builder, { type: T }>();
  return (builder) => {
    const known = made.get(builder) ?? { type: make(builder) };
    made.set(builder, known);
    return known.type;
  };
}

/** @throws ServiceError of the key check, also where no key could be sent with the operation. */
export async function sessionOf(context: GraphQLContext): Promise<Session> {
  if (!context.session) throw new ServiceError("authorization_missing", "send your API key");
  return await context.session();
}

/** The opaque id of a node. */
export function encodeId(typename: string, id: unknown): string {
  return Buffer.from(`${typename}:${String(id)}`).toString("base64url");
}

function decodeId(text: string): { typename: string; id: string } {
  const [typename = "", ...rest] = Buffer.from(text, "base64url").toString("utf8").split(":");
  if (!nodeTypes.includes(typename)) throw new ServiceError("value_error", "this id is of no node", { field: "id" });
  return { typename, id: rest.join(":") };
}

/** The TypeScript types of the scalars. */
export type Scalars = {
  /** As spelled in the request; not yet checked against the chains of this installation. */
  ChainName: { Input: string; Output: string };
  /** Lower case in both directions. */
  Address: { Input: Address; Output: string };
  TokenId: { Input: bigint; Output: bigint };
  Uint256: { Input: bigint; Output: bigint };
  Wei: { Input: bigint; Output: bigint };
  DateTime: { Input: Date; Output: Date };
  Hex: { Input: Hex; Output: string };
  CID: { Input: string; Output: string };
  JSON: { Input: unknown; Output: unknown };
  Upload: { Input: UploadedFile; Output: never };
};

/** The owner whose questions and streams this request counts among: the key's account, otherwise the address. */
export async function askerOf(context: GraphQLContext): Promise<string> {
  const account = await context.caller().then(
    ({ accountId }) => accountId,
    () => null,
  );
  return account ?? `address:${context.address ?? ""}`;
}

/** The argument `input` of a field as the client wrote it. Parsed scalars have lost the original spelling. */
export function writtenInput(
  { fieldNodes }: Pick<GraphQLResolveInfo, "fieldNodes">,
  { params }: GraphQLContext,
): Record<string, unknown> {
  const argument = fieldNodes[0]?.arguments?.find(({ name }) => name.value === "input");
  const written = argument && valueFromASTUntyped(argument.value, params?.variables);
  return typeof written === "object" && written !== null ? (written as Record<string, unknown>) : {};
}
