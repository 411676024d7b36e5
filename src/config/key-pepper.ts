import { ConfigError } from "../setting-words.ts";
import { type Env, isProduction } from "./values.ts";

/**
 * Without a pepper of its own an installation digests keys and signs cursors with a text that everybody can read. That
 * is for trying; keys made with it stop working once one is set, so production refuses before the first is made.
 */
export function loadPepper(env: Env): string {
  const pepper = env["KEY_PEPPER"]?.trim();
  if (!pepper && isProduction(env)) throw missingPepper();
  return pepper || publicPepper;
}

export const publicPepper = "mintyard-embedded";

function missingPepper(): ConfigError {
  return new ConfigError(
    "KEY_PEPPER: missing; set a long random text (openssl rand -base64 32), and keep it: without it no API key works",
  );
}

/**
 * For whatever makes keys. `npm start` gives its parts a pepper of their own; beside another database nobody did.
 *
 * @throws ConfigError when keys would be made with the text that everybody can read.
 */
export function requireOwnPepper({ keyPepper }: { keyPepper: string }): void {
  if (keyPepper === publicPepper) throw missingPepper();
}
