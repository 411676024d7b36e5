/**
 * Bounds of an `LRUCache` by the number of its entries. Its memory grows with what is in it, while the library's `max`
 * reserves room for all entries at once: two megabytes for twice 50,000.
 */
export function entryBound(most: number) {
  return { maxSize: most, sizeCalculation: () => 1 };
}

/** Bounds of an `LRUCache` by the bytes of its values. A value that alone is larger is not kept. */
export function byteBound(most: number) {
  // Content may be empty, and the library refuses a size of nothing.
  return { maxSize: most, sizeCalculation: (value: { length: number }) => Math.max(value.length, 1) };
}
