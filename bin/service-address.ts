import { DataFolder } from "../src/embedded/data-folder.ts";
import { CommandError } from "./command-error.ts";

/** Options of every command that uses a service's public API. */
export interface ServiceOptions {
  url?: string | undefined;
  json?: true | undefined;
}

export interface ServiceAddress {
  /** The origin, such as `https://mintyard.example`. */
  url: string;
  /** API key; sent to this origin only. */
  key: string;
}

/**
 * The service of `--url`, or the local one. The local key is sent only there; any other service needs MINTYARD_KEY.
 *
 * @throws CommandError when there is no service, or no key for it.
 */
export function findService({ url }: ServiceOptions): ServiceAddress {
  const local = DataFolder.environmentOf(process.env["MINTYARD_DATA_DIR"]);
  const localUrl = local ? `http://127.0.0.1:${local["PORT"]}` : null;
  const chosen = url ?? localUrl;
  if (chosen === null)
    throw new CommandError("no service runs here: start one with `mintyard start`, or name one with --url");
  const parsed = URL.parse(chosen);
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    throw new CommandError(`--url is the address of a service, not ${JSON.stringify(chosen)}`);
  const own = parsed.origin === localUrl ? local?.["MINTYARD_API_KEY"] : undefined;
  const key = process.env["MINTYARD_KEY"] || own;
  if (!key) throw new CommandError(`MINTYARD_KEY is missing: it has the API key of ${parsed.origin}`);
  return { url: parsed.origin, key };
}
