/** On phones and tablets, a wallet is a separate app. */
export const isTouched = () => matchMedia("(pointer: coarse)").matches;
