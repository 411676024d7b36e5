/**
 * Bounds an `LRUCache` by its number of entries. Its memory grows with its content, while the library's `max` reserves
 * space for all entries at once: two megabytes for twice 50,000.
 */
export function entryBound(most: number) {
  return { maxSize: most, sizeCalculation: () => 1 };
}

/** Bounds an `LRUCache` by the bytes of its values. A value that is larger than the bound is not kept. */
export function byteBound(most: number) {
  // Content may be empty, and the library refuses a size of 0.
  return { maxSize: most, sizeCalculation: (value: { length: number }) => Math.max(value.length, 1) };
}
