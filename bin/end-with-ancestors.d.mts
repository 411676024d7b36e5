export function whenAncestorsEnd(gone: () => void): void;
