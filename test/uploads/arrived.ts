import { UploadedFile } from "../../src/graphql/multipart-request.ts";

/** What a multipart request puts in the place of a file's variable. */
export function arrived(fileName: string, text: string): UploadedFile {
  async function* stream() {
    yield Buffer.from(text);
  }
  return new UploadedFile(async () => ({ fileName, contentType: "application/json", stream: stream() }));
}
