import { MintyardError } from "../../client/src/error.ts";

/** An error in words, with what to do about it and the fault of each member. */
export function ErrorNotice({ error }: { error: unknown }) {
  if (!error) return null;
  const known = error instanceof MintyardError;
  const isAway = known && error.code === "no_answer";
  const message = isAway ? "The server does not answer." : (error as Error).message;
  const fix = isAway
    ? "What is shown may be old, and what you sent may have arrived all the same."
    : known && error.fix;
  return (
    <div className="notice wrong" role="alert">
      <p>{message}</p>
      {known && error.problems.length > 0 && (
        <ul>
          {error.problems.map(({ field, message: text }) => (
            <li key={`${field} ${text}`}>
              {field && <code>{field}</code>} {text}
            </li>
          ))}
        </ul>
      )}
      {fix && <p className="small">{fix}</p>}
    </div>
  );
}

export function Loading({ what }: { what: string }) {
  return (
    <p role="status" className="quiet">
      Loading {what}…
    </p>
  );
}
