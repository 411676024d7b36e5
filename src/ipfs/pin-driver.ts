/** Makes the content of a CAR available elsewhere. */
export interface PinDriver {
  name: string;
  /** @returns the root that the other side stored, CIDv1. @throws with `statusCode` where there was an answer. */
  pin(root: string, car: Blob): Promise<string>;
}
