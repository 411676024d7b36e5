import { type Answer, send } from "../setup/send.ts";

export interface FormFile {
  /** `variables.file`, `variables.files.0`. */
  path: string;
  blob: Blob;
  name: string;
}

/** One operation with its files, by the multipart request specification. */
export async function multipartGraphql(
  url: string,
  key: string,
  query: string,
  variables: unknown,
  files: readonly FormFile[],
): Promise<Answer> {
  const form = new FormData();
  form.append("operations", JSON.stringify({ query, variables }));
  form.append("map", JSON.stringify(Object.fromEntries(files.map(({ path }, index) => [index, [path]]))));
  for (const [index, { blob, name }] of files.entries()) form.append(String(index), blob, name);
  return await send(`${url}/graphql`, { key, headers: { "x-graphql-yoga-csrf": "1" }, body: form });
}
