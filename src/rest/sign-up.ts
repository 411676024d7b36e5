import { signUp } from "../accounts/sign-up.ts";
import { clientAddress } from "../http/client-address.ts";
import type { Services } from "../services.ts";
import { ok } from "./answer.ts";
import type { V0App } from "./app.ts";
import { Input } from "./input.ts";
import { parseJsonObject, readBody } from "./json-body.ts";

const bodyBytes = 16_384;

/** POST /signup, the one operation without a key. */
export function addSignUp(app: V0App, services: Services): void {
  app.post("/signup", async (c) => {
    const input = Input.fromBody(parseJsonObject(await readBody(c.env.incoming, bodyBytes)));
    const name = input.text("name", { required: true });
    const email = input.text("email");
    input.check();
    const { accountId, tier, key, legacyKey } = await signUp(
      services,
      { name: name ?? "", email },
      {
        address: clientAddress(c.env.incoming, services.config.trustedProxies),
        requestId: c.get("requestId"),
      },
    );
    return ok(c, { account_id: accountId, tier, api_key: key, legacy_api_key: legacyKey });
  });
}
