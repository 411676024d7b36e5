import { counted } from "../../shared/amounts.ts";
import { type Level, type Part, parts, type Trouble } from "./advice.ts";
import { type Status, waitingOn } from "./status.ts";

const words: Record<Level | "good" | "off", string> = {
  good: "works",
  warn: "needs a look",
  wrong: "has a fault",
  off: "not known",
};

/** One tile for each part of the installation, with the level of its worst problem. */
export function HealthTiles({ status, troubles }: { status: Status; troubles: readonly Trouble[] }) {
  return (
    <ul className="health" aria-label="Health">
      {parts.map((part) => {
        const level = levelOf(part, status, troubles);
        return (
          <li key={part} className={`tile ${level}`}>
            <strong>{part}</strong>
            <Mark level={level} />
            <span className="small">{words[level]}</span>
            <span className="figure">{figureOf(part, status)}</span>
          </li>
        );
      })}
    </ul>
  );
}

/** Each problem, what to do about it, and where the guides have more. */
export function TroubleList({ troubles }: { troubles: readonly Trouble[] }) {
  if (troubles.length === 0)
    return (
      <p className="notice good" role="status">
        Nothing needs attention.
      </p>
    );
  return (
    <div className="card stack" role="status">
      <h2>Needs attention</h2>
      <ul className="troubles">
        {troubles.map(({ code, where, level, says, todo, guide }) => (
          <li key={`${where} ${code}`} className={level}>
            <Mark level={level} />
            <div>
              <strong>
                {where && `${where}: `}
                {says}
              </strong>{" "}
              {todo} <a href={`/docs/guide/${guide}`}>{nameOf(guide)}</a>
            </div>
          </li>
        ))}
      </ul>
    </div>
  );
}

const nameOf = (guide: string) => {
  const [page = ""] = guide.split("#");
  return page.startsWith("Mintyard") ? `Runbook ${page}` : `Guide ${page}`;
};

/** A shape for each level, so nobody has to distinguish colours. */
function Mark({ level }: { level: keyof typeof words }) {
  const paths = { good: "M4 8.5l3 3 5-6.5", warn: "M8 3.5v6M8 12.4v.1", wrong: "M4.5 4.5l7 7m0-7l-7 7", off: "M4 8h8" };
  return (
    <svg className="mark" viewBox="0 0 16 16" aria-hidden="true">
      <path d={paths[level]} />
    </svg>
  );
}

function levelOf(part: Part, status: Status, troubles: readonly Trouble[]): keyof typeof words {
  const levels = troubles.filter((trouble) => trouble.part === part).map(({ level }) => level);
  if (levels.includes("wrong")) return "wrong";
  if (levels.includes("warn")) return "warn";
  // When the database is away, what it knows about these parts is unknown too.
  const isKnown = status.database === "ok" || part === "Database" || part === "Storage";
  return isKnown && (part !== "Signer" || status.signer.kind !== null) ? "good" : "off";
}

const signers: Record<string, string> = {
  in_process: "in the worker",
  signer: "a process of its own",
  web3signer: "Web3Signer",
};

function figureOf(part: Part, { database, signer, replicas, chains, pins, storage }: Status): string {
  if (part === "Database")
    return replicas.length === 0
      ? database
      : `${database}, ${counted(replicas.length, "standby").replace(/ys$/, "ies")}`;
  if (part === "Storage") {
    if (storage && storage.full.length > 0) return `full: ${storage.full.join(", ").replaceAll("_", " ")}`;
    return pins["queued"] ? `${counted(pins["queued"], "upload")} to pin` : "has room";
  }
  if (database !== "ok") return "–";
  if (part === "Signer") return signer.kind === null ? "no worker signs" : (signers[signer.kind] ?? signer.kind);
  if (part === "Wallets") {
    const all = chains.flatMap(({ wallets, walletStates }) =>
      wallets.map(({ wallet }) => walletStates.find((one) => one.wallet === wallet)?.state ?? "open"),
    );
    return all.length === 0 ? "none pays" : `${all.filter((state) => state === "open").length} of ${all.length} open`;
  }
  if (part === "Transactions")
    return `${chains.reduce((sum, chain) => sum + waitingOn(chain), 0).toLocaleString()} waiting`;
  const lags = chains.map(({ lagBlocks }) => lagBlocks).filter((lag) => lag !== null);
  return lags.length === 0 ? "lag not known" : `${counted(Math.max(...lags), "block")} behind`;
}
