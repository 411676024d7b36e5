import type { ObjectFieldBuilder } from "@pothos/core";
import type { Member, MembersOf } from "../requests/answer-members.ts";
import type { Types } from "./builder.ts";

const typeNames: Record<Member["kind"], string | [string]> = {
  id: "ID",
  text: "String",
  integer: "Int",
  date: "DateTime",
  address: "Address",
  texts: ["String"],
};

/** Fields of an object type that are members of its parent, as declared in requests/answer-members.ts. */
export function exposeMembers<T extends object>(t: ObjectFieldBuilder<Types, T>, members: MembersOf<T>) {
  const fields = (Object.entries(members) as [keyof T & string, Member][]).map(([name, { kind, doc, nullable }]) => {
    const options = { type: typeNames[kind], nullable: nullable ?? false, description: doc };
    return [name, t.field({ ...options, resolve: (parent: T) => parent[name] } as never)] as const;
  });
  return Object.fromEntries(fields);
}
