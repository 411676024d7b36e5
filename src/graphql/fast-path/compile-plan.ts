import {
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLSchema,
  getArgumentValues,
  getVariableValues,
  Kind,
  type OperationDefinitionNode,
  type SelectionSetNode,
} from "graphql";
import type { Caller } from "../../auth/caller.ts";
import { findChain } from "../../chains.ts";
import { JsonText } from "../../json/json-text.ts";
import {
  type ContractMember,
  type ContractMemberName,
  type FileMember,
  type JsonMember,
  listMark,
  type NftMember,
  type NftShape,
} from "../../nfts/compose.ts";
import { contractFields, tokenFields } from "../../nfts/fields.ts";
import {
  accountPage,
  chainPage,
  contractDetails,
  contractPage,
  type JsonPage,
  nftDetails,
} from "../../nfts/json-lists.ts";
import { countConditions, type TraitFilter } from "../../nfts/traits.ts";
import type { Services } from "../../services.ts";
import { encodeId } from "../builder.ts";
import { type ConnectionArgs, pageRequestOf } from "../connection.ts";

/** An operation that is answered without graphql-js: its reads write the text of `data`. */
export interface CompiledPlan {
  /**
   * Prepares a call. `size` names everything its cost depends on. Null: these variables do not fit the plan.
   *
   * @throws the errors of graphql-js' variable coercion.
   */
  prepare(variables: Record<string, unknown>): { size: string; run: Run } | null;
}

type Run = (services: Services, caller: Caller) => Promise<JsonText>;
type Args = ConnectionArgs & Record<string, unknown>;

/** The most root fields of a planned operation: each is a statement of its own. */
const maxRoots = 5;

/**
 * Compiles a valid operation that only reads tokens: `account { nfts }`, `chain { latestNfts }`, `nft`, `contract` with
 * or without `nfts`, with any selection of their fields but no directives.
 *
 * @returns null for every other operation; graphql-js executes those.
 */
export function compilePlan(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  fragments: Fragments,
): CompiledPlan | null {
  if (operation.operation !== "query" || (operation.directives ?? []).length > 0) return null;
  const roots = flatten(operation.selectionSet, "Query", fragments) ?? [];
  if (roots.length === 0 || roots.length > maxRoots) return null;
  const makers = { account: planAccount, chain: planChain, nft: planNft, contract: planContract };
  const answers = roots.map((root) => {
    const make = Object.hasOwn(makers, root.field) ? makers[root.field as keyof typeof makers] : null;
    return make?.(schema, root, fragments) ?? null;
  });
  const planned = answers.filter((answer) => answer !== null);
  if (planned.length < answers.length) return null;
  return {
    prepare(variables) {
      // One error is enough: a list of them would be built before the request is counted.
      const wanted = operation.variableDefinitions ?? [];
      const { coerced: values, errors } = getVariableValues(schema, wanted, variables, { maxErrors: 1 });
      if (errors) throw errors[0];
      const calls = planned.map((answer) => answer(values)).filter((call) => call !== null);
      if (calls.length < planned.length) return null;
      const run: Run = async (services, caller) => {
        const texts = await Promise.all(calls.map((call) => call.run(services, caller)));
        const data = new JsonText();
        for (const [index, text] of texts.entries())
          data.add(`${index === 0 ? "{" : ","}"${roots[index]?.name}":`).add(text);
        return data.add("}");
      };
      return { size: calls.map(({ size }) => size).join(), run };
    },
  };
}

type Prepare = (variables: Record<string, unknown>) => { size: string; run: Run } | null;

function planAccount(schema: GraphQLSchema, root: Member, fragments: Fragments): Prepare | null {
  const found = membersWithList(root, "Account", "nfts", fragments);
  if (!found?.list || !found.others.every(({ field }) => ["id", "address", "__typename"].includes(field))) return null;
  const { members, list } = found;
  const write = connectionWriter(list.node.selectionSet, fragments);
  if (!write) return null;
  const [rootArguments, listArguments] = [argumentsOf(schema, "Query", root), argumentsOf(schema, "Account", list)];
  return (variables) => {
    const account = String(rootArguments(variables)["address"]);
    const args = listArguments(variables);
    if (!forwards(args)) return null;
    const exclude = (args["exclude"] ?? []) as ("ERC721" | "ERC1155")[];
    const run: Run = async (services, caller) => {
      const page = await accountPage(services, caller, {
        ...{ chain: String(args["chain"]), account, exclude, page: pageRequestOf(args), ...write.request },
        ...(args["contract"] == null ? {} : { contract: String(args["contract"]) }),
      });
      const values = {
        nfts: write.text(page),
        id: () => JSON.stringify(encodeId("Account", account)),
        address: () => JSON.stringify(account),
        __typename: '"Account"',
      };
      return object(members, values);
    };
    return { size: sizeOf(args), run };
  };
}

function planChain(schema: GraphQLSchema, root: Member, fragments: Fragments): Prepare | null {
  const found = membersWithList(root, "Chain", "latestNfts", fragments);
  if (!found?.list || !found.others.every(({ field }) => ["name", "chainId", "__typename"].includes(field)))
    return null;
  const { members, list } = found;
  const write = connectionWriter(list.node.selectionSet, fragments);
  if (!write) return null;
  const [rootArguments, listArguments] = [argumentsOf(schema, "Query", root), argumentsOf(schema, "Chain", list)];
  return (variables) => {
    const chain = String(rootArguments(variables)["name"]);
    const args = listArguments(variables);
    if (!forwards(args)) return null;
    const run: Run = async (services, caller) => {
      const page = await chainPage(services, caller, { chain, page: pageRequestOf(args), ...write.request });
      return object(members, {
        latestNfts: write.text({ ...page, total: null }),
        name: JSON.stringify(chain),
        chainId: String(findChain(services.chains, chain).id),
        __typename: '"Chain"',
      });
    };
    return { size: sizeOf(args), run };
  };
}

/** The fields of an object that has at most one token list, under the given name. */
function membersWithList(root: Member, type: string, name: string, fragments: Fragments) {
  const members = root.node.selectionSet && flatten(root.node.selectionSet, type, fragments);
  const lists = members?.filter(({ field }) => field === name) ?? [];
  if (!members || lists.length > 1) return null;
  return { members, list: lists[0], others: members.filter(({ field }) => field !== name) };
}

function planNft(schema: GraphQLSchema, root: Member, fragments: Fragments): Prepare | null {
  const shape = nftShape(root.node.selectionSet, fragments);
  if (!shape) return null;
  const readArguments = argumentsOf(schema, "Query", root);
  return (variables) => {
    const args = readArguments(variables);
    const key = {
      chain: String(args["chain"]),
      contract: String(args["contract"]),
      tokenId: args["tokenId"] as bigint,
    };
    return { size: "", run: async (services, caller) => (await nftDetails(services, caller, { ...key, shape })).nft };
  };
}

function planContract(schema: GraphQLSchema, root: Member, fragments: Fragments): Prepare | null {
  const found = membersWithList(root, "Contract", "nfts", fragments);
  const members = contractMembersOf(root.node, fragments);
  if (!found || !members) return null;
  const readArguments = argumentsOf(schema, "Query", root);
  const keyOf = (variables: Record<string, unknown>) => {
    const args = readArguments(variables);
    return { chain: String(args["chain"]), address: String(args["address"]) };
  };
  const { list } = found;
  if (!list) {
    return (variables) => {
      const key = keyOf(variables);
      const run: Run = async (services, caller) =>
        (await contractDetails(services, caller, { ...key, members })) ?? new JsonText().add("null");
      return { size: "", run };
    };
  }
  const write = connectionWriter(list.node.selectionSet, fragments);
  if (!write) return null;
  const listArguments = argumentsOf(schema, "Contract", list);
  return (variables) => {
    const { chain, address } = keyOf(variables);
    const args = listArguments(variables);
    if (!forwards(args) || args["owner"] != null) return null;
    const traits = (args["traits"] ?? undefined) as TraitFilter | undefined;
    const run: Run = async (services, caller) => {
      const request = { chain, contract: address, traits, page: pageRequestOf(args), ...write.request };
      const page = await contractPage(services, caller, { ...request, contractMembers: members, wholeContract: true });
      const [before = "", after = ""] = page.contract?.take().split(listMark) ?? [];
      return new JsonText().add(before).add(write.text(page)).add(after);
    };
    // A known cost applies only to filters with the same number of conditions.
    return { size: `${sizeOf(args)}/${countConditions(traits)}`, run };
  };
}

function connectionWriter(set: SelectionSetNode | undefined, fragments: Fragments) {
  const members = set && flatten(set, "NftConnection", fragments);
  if (!members?.every(({ field }) => ["nodes", "edges", "pageInfo", "totalCount", "__typename"].includes(field)))
    return null;
  const lists = members.filter(({ field }) => field === "nodes" || field === "edges");
  const infos = members.filter(({ field }) => field === "pageInfo");
  if (lists.length > 1 || infos.length > 1) return null;
  const [list] = lists;
  const edge =
    list?.field === "edges" ? list.node.selectionSet && flatten(list.node.selectionSet, "NftEdge", fragments) : [];
  if (!edge?.every(({ field }) => ["cursor", "node", "__typename"].includes(field))) return null;
  const info = infos[0]?.node.selectionSet ? flatten(infos[0].node.selectionSet, "PageInfo", fragments) : [];
  const node = list?.field === "edges" ? edge?.find(({ field }) => field === "node")?.node : list?.node;
  const shape = node ? nftShape(node.selectionSet, fragments) : [];
  if (!edge || !info || !shape || edge.filter(({ field }) => field === "node").length > 1) return null;
  const asEdges = list?.field === "edges";
  const edgeText = (item: string, cursor: string) =>
    object(edge, { cursor: JSON.stringify(cursor), node: item, __typename: '"NftEdge"' }).toString();
  return {
    request: { shape: shape satisfies NftShape, split: asEdges },
    text: (page: JsonPage): JsonText =>
      object(members, {
        nodes: () => new JsonText().add("[").add(page.items).add("]"),
        edges: () => `[${(page.parts ?? []).map(({ item, cursor }) => edgeText(item, cursor)).join(",")}]`,
        pageInfo: () =>
          object(info, {
            hasNextPage: String(page.hasNext),
            hasPreviousPage: String(page.hasPrevious),
            startCursor: () => JSON.stringify(page.startCursor()),
            endCursor: () => JSON.stringify(page.endCursor()),
            __typename: '"PageInfo"',
          }),
        totalCount: page.total === null ? "null" : String(page.total),
        __typename: '"NftConnection"',
      }),
  };
}

function argumentsOf(
  schema: GraphQLSchema,
  type: string,
  member: Member,
): (variables: Record<string, unknown>) => Args {
  const parent = schema.getType(type);
  const definition = parent && "getFields" in parent ? parent.getFields()[member.field] : undefined;
  if (!definition || !("args" in definition)) throw new Error(`${type}.${member.field} is no field`);
  return (variables) => getArgumentValues(definition, member.node, variables);
}

function forwards(args: Args): boolean {
  return args.last == null && args.before == null;
}

function sizeOf(args: Args): string {
  return String(args.first ?? "");
}

type Value = string | JsonText;

function object(members: readonly Member[], values: Record<string, Value | (() => Value)>): JsonText {
  const text = new JsonText();
  for (const [index, { name, field }] of members.entries()) {
    const value = values[field] ?? "null";
    text.add(`${index === 0 ? "{" : ","}"${name}":`).add(typeof value === "function" ? value() : value);
  }
  return text.add(members.length === 0 ? "{}" : "}");
}

export type Fragments = Record<string, FragmentDefinitionNode>;

/** A selected field and its response name. */
export interface Member {
  name: string;
  field: string;
  node: FieldNode;
}

/** GraphQL fields that are not in the field table under the same name. */
const tokenNames: Record<string, NftMember> = { id: "id", __typename: "nftTypename" };
const contractNames: Record<string, ContractMemberName> = {
  id: "id",
  __typename: "contractTypename",
  // The list's reader inserts its text here.
  nfts: "listMark",
};
const fileNames: Record<string, FileMember> = {
  width: "width",
  height: "height",
  sizeBytes: "sizeBytes",
  __typename: "fileTypename",
};

/** The members of a token object; null: the selection does not fit a plan. */
function nftShape(set: SelectionSetNode | undefined, fragments: Fragments): JsonMember[] | null {
  const members = set && flatten(set, "Nft", fragments);
  if (!members) return null;
  const shape = members.map(({ name, field, node }): JsonMember | null => {
    if (field === "contract") {
      const inner = contractMembersOf(node, fragments);
      if (inner?.some((member) => member.field === "listMark")) return null;
      return inner && { name, field: { group: "contract", members: inner } };
    }
    if (field === "fileInformation") {
      const inner = namedMembers(node, "FileInformation", fileNames, fragments);
      return inner && { name, field: { group: "fileInformation", members: inner } };
    }
    const known = memberNamed<NftMember>(field, tokenNames, tokenFields);
    return known ? { name, field: known } : null;
  });
  const whole = shape.filter((member) => member !== null);
  return whole.length === shape.length ? whole : null;
}

/** The members of a contract object; null: the selection does not fit a plan. */
function contractMembersOf(node: FieldNode, fragments: Fragments): ContractMember[] | null {
  return namedMembers(node, "Contract", contractNames, fragments, contractFields);
}

function namedMembers<F extends string>(
  node: FieldNode,
  type: string,
  names: Record<string, F>,
  fragments: Fragments,
  fields: object = {},
): JsonMember<F>[] | null {
  const inner = node.selectionSet && flatten(node.selectionSet, type, fragments);
  const known = inner?.flatMap((member): JsonMember<F>[] => {
    const field = memberNamed(member.field, names, fields);
    return field ? [{ name: member.name, field }] : [];
  });
  return inner && known?.length === inner.length ? known : null;
}

function memberNamed<F extends string>(name: string, names: Record<string, F>, fields: object): F | undefined {
  if (Object.hasOwn(fields, name)) return name as F;
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

/** The fields of a selection, fragments expanded; null if it has directives or other types. */
function flatten(set: SelectionSetNode, type: string, fragments: Fragments): Member[] | null {
  const members: Member[] = [];
  for (const selection of set.selections) {
    if ((selection.directives ?? []).length > 0) return null;
    if (selection.kind === Kind.FIELD) {
      members.push({ name: (selection.alias ?? selection.name).value, field: selection.name.value, node: selection });
      continue;
    }
    const fragment = selection.kind === Kind.INLINE_FRAGMENT ? selection : fragments[selection.name.value];
    if (!fragment || (fragment.typeCondition && fragment.typeCondition.name.value !== type)) return null;
    const inner = flatten(fragment.selectionSet, type, fragments);
    if (!inner) return null;
    members.push(...inner);
  }
  // An executor would merge fields that are selected twice.
  return new Set(members.map(({ name }) => name)).size === members.length ? members : null;
}
