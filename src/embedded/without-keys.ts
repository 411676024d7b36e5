type Env = Readonly<Record<string, string | undefined>>;

/** Keys, where keys lie, and what opens the signer to operators: for the signer, and for nobody else. */
const secret = /^(RELAYER_KEY|SIGNER_ADMIN_TOKEN)/;

/** An environment for a process that does not sign. */
export function withoutKeys(env: Env): Record<string, string> {
  const others = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(others.filter(([name]) => !secret.test(name)));
}
