import type { Config } from "./config.ts";
import { publicPepper } from "./key-pepper.ts";

/** Every value of a configuration that must appear in no log, answer or metric. */
export function secretsOf(config: Config): string[] {
  const databases = [config.databaseUrl, ...Object.values(config.databaseUrls), ...config.replicas.urls];
  const nodes = config.chains.flatMap(({ rpcUrls }) => rpcUrls);
  const passwords = [...databases, ...nodes].flatMap((text) => {
    if (!text || !URL.canParse(text)) return [];
    const { password } = new URL(text);
    return [password, /%(?![0-9a-f]{2})/i.test(password) ? "" : decodeURIComponent(password)];
  });
  const chains = config.chains.flatMap(({ relayerKey, relay, rpcUrls, local }) => [
    ...[...(relayerKey ? [relayerKey] : []), ...relay.moreKeys].flatMap((key) => [key, key.slice(2)]),
    // Of a provider's URL the path and query are the account's key.
    ...(local ? [] : rpcUrls.flatMap((url) => [new URL(url).pathname.slice(1), new URL(url).search.slice(1)])),
  ]);
  return [
    config.keyPepper,
    config.devApiKey ?? "",
    config.metrics.token ?? "",
    ...[config.signing.signer?.token, config.signing.signer?.adminToken].map((token) =>
      token && "value" in token ? token.value : "",
    ),
    config.ipfs.pinata?.jwt ?? "",
    config.ipfs.kubo?.authorization ?? "",
    ...passwords,
    ...chains,
  ].filter((secret) => secret.length >= 8 && secret !== publicPepper);
}
