import { ServiceError } from "../errors.ts";

/**
 * A multipart request that graphql-upload-ts refuses, or that breaks off, in this service's codes. The
 * library raises errors with a 4xx `status` and `expose` set where the text is meant for the client.
 */
export function uploadFailure(error: unknown): unknown {
  if (error instanceof ServiceError || !(error instanceof Error)) return error;
  const { status, expose } = error as Error & { status?: unknown; expose?: unknown };
  if (expose !== true || typeof status !== "number" || status < 400 || status > 499) return error;
  return new ServiceError(status === 413 ? "file_too_large" : "value_error", error.message, { cause: error });
}

/** An upload's bytes, its failures in this service's codes. */
export async function* uploadBytes(stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  try {
    yield* stream;
  } catch (error) {
    throw uploadFailure(error);
  }
}
