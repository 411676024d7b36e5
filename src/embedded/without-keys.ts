type Env = Readonly<Record<string, string | undefined>>;

/** Keys, where keys lie, and what opens the signer to operators: for the signer, and for nobody else. */
const secret = /^(RELAYER_KEY|SIGNER_ADMIN_TOKEN)/;

/** Where the signer is, and what opens it: for the worker. */
const access = /^(SIGNER_(URL|TOKEN)|WEB3SIGNER_)/;

/** An environment for a process that has no key. */
export function withoutKeys(env: Env): Record<string, string> {
  return without(secret, env);
}

/** An environment for a process that has nothing signed either. */
export function withoutSigner(env: Env): Record<string, string> {
  return without(access, withoutKeys(env));
}

function without(pattern: RegExp, env: Env): Record<string, string> {
  const others = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return Object.fromEntries(others.filter(([name]) => !pattern.test(name)));
}
