import { signUp } from "../accounts/sign-up.ts";
import { clientAddress } from "../http/client-address.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { readOwnBody, signUpBody } from "./own-bodies.ts";

/** POST /signup, the one operation without a key. */
export function addSignUp(app: V0App, services: Services): void {
  app.post("/signup", async (c) => {
    const { name, email } = await readOwnBody(c.env.incoming, signUpBody);
    const { accountId, tier, key, legacyKey } = await signUp(
      services,
      // A form sends an empty text for what was left out.
      { name, email: email || undefined },
      {
        address: clientAddress(c.env.incoming, services.config.trustedProxies),
        requestId: c.get("requestId"),
      },
    );
    return ok(c, { account_id: accountId, tier, api_key: key, legacy_api_key: legacyKey });
  });
}
