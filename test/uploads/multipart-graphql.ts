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
  // What a test expects of a body is said by its assertions.
): Promise<{ status: number; body: ReturnType<typeof JSON.parse> }> {
  const form = new FormData();
  form.append("operations", JSON.stringify({ query, variables }));
  form.append("map", JSON.stringify(Object.fromEntries(files.map(({ path }, index) => [index, [path]]))));
  for (const [index, { blob, name }] of files.entries()) form.append(String(index), blob, name);
  const headers = { Authorization: key, "x-graphql-yoga-csrf": "1" };
  const response = await fetch(`${url}/graphql`, { method: "POST", headers, body: form });
  return { status: response.status, body: JSON.parse(await response.text()) };
}
