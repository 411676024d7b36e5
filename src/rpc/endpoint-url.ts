/**
 * An endpoint's URL as `fetch` takes it. A user and a password in it (RFC 3986) become a header: `fetch` refuses a URL
 * that has them, which looks as if no node answered.
 */
export function splitCredentials(url: string): { url: string; headers: Record<string, string> } {
  const parsed = new URL(url);
  const { username, password } = parsed;
  if (username === "" && password === "") return { url, headers: {} };
  parsed.username = "";
  parsed.password = "";
  const credentials = Buffer.from(`${decode(username)}:${decode(password)}`).toString("base64");
  return { url: parsed.href, headers: { authorization: `Basic ${credentials}` } };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
