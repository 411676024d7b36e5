import { Readable } from "node:stream";
import { type FileUpload, Upload } from "graphql-upload-ts";

/** What graphql-upload-ts puts in the place of a file's variable. */
export function arrived(filename: string, text: string): Upload {
  const upload = new Upload();
  const createReadStream = () => Readable.from([Buffer.from(text)]);
  upload.resolve({ filename, mimetype: "application/json", createReadStream } as unknown as FileUpload);
  return upload;
}
