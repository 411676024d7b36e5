import type { FileInput } from "../uploads/upload-record.ts";

/** A file of a multipart request, in the place of its variable. */
export class UploadedFile {
  /** Waits for the file and begins to read it; once. @throws ServiceError when it does not come. */
  readonly open: () => Promise<FileInput>;

  constructor(open: () => Promise<FileInput>) {
    this.open = open;
  }
}
