/** Something that is not as the reading says. */
export interface Difference {
  /** DOCUMENTS_SEED/number. */
  document: string;
  what: string;
  shown: unknown;
  read: unknown;
}

const shortened = (value: unknown) => {
  const text = JSON.stringify(value) ?? "undefined";
  return text.length > 300 ? `${text.slice(0, 200)}… (${text.length})` : value;
};

/** Members of `read` that are others in `shown`. */
export function differences(document: string, where: string, shown: object, read: object): Difference[] {
  return Object.entries(read).flatMap(([member, wanted]) => {
    const value = (shown as Record<string, unknown>)[member];
    if (JSON.stringify(value) === JSON.stringify(wanted)) return [];
    return [{ document, what: `${where}.${member}`, shown: shortened(value), read: shortened(wanted) }];
  });
}
