/** On phones and tablets a wallet is an app beside the browser. */
export const isTouched = () => matchMedia("(pointer: coarse)").matches;
