import { useState } from "react";
import { Address, Copy } from "../address.tsx";
import { DangerButton } from "../danger-button.tsx";
import { MintPlot } from "../mint-plot.tsx";
import { Loading } from "../notices.tsx";
import { Time } from "../time.tsx";

const grounds = ["paper", "card", "fill", "accent-soft", "warn-soft", "wrong-soft"];
const inks = ["ink", "quiet", "accent", "warn", "wrong"];
const sizes = [
  ["text-s", "Words beside a thing: hints, badges, heads of tables"],
  ["text-m", "What is read"],
  ["text-l", "The title of a card"],
  ["text-xl", "The title of a page, a figure"],
  ["text-2xl", "The price on a mint page"],
];
const gaps = ["s1", "s2", "s3", "s4", "s5", "s6"];

/** Every part that the pages are made of, in the current theme. For people who change the pages; no menu leads here. */
export function DesignPage() {
  const [choice, setChoice] = useState("one");
  return (
    <div className="stack">
      <h1>Parts of the pages</h1>
      <section className="card stack" aria-labelledby="type">
        <h2 id="type">Type</h2>
        {sizes.map(([name, use]) => (
          <p key={name} style={{ fontSize: `var(--${name})` }}>
            {use} <code>--{name}</code>
          </p>
        ))}
        <p>
          Regular for text,{" "}
          <span style={{ fontWeight: "var(--medium)" }}>medium for labels and what can be pressed</span>,{" "}
          <strong>strong for titles and figures</strong>. Figures are 0123456789, each as wide as the others.
        </p>
      </section>
      <section className="card stack" aria-labelledby="colours">
        <h2 id="colours">Colours</h2>
        <p>
          Neutral for everything, one accent for what can be pressed and what is under way, amber and red for what needs
          a look.
        </p>
        <ul className="cards small-cards">
          {grounds.map((ground) => (
            <li key={ground} className="card stack tight" style={{ background: `var(--${ground})` }}>
              <code>{ground}</code>
              {inks.map((ink) => (
                <span key={ink} className="small" style={{ color: `var(--${ink})` }}>
                  {ink}
                </span>
              ))}
            </li>
          ))}
        </ul>
      </section>
      <section className="card stack" aria-labelledby="space">
        <h2 id="space">Space</h2>
        {gaps.map((gap) => (
          <p key={gap} className="row">
            <code>--{gap}</code>
            <span style={{ background: "var(--accent)", width: `var(--${gap})`, height: "1rem" }} />
          </p>
        ))}
        <p>A card is lifted from the page by a line and a shadow; what stands in it is not.</p>
      </section>
      <section className="card stack" aria-labelledby="press">
        <h2 id="press">What can be pressed</h2>
        <p className="row">
          <button type="button" className="main">
            The next step
          </button>
          <button type="button">Another way</button>
          <button type="button" className="main" disabled>
            Not yet
          </button>
          <a className="button" href="#press">
            A link as a button
          </a>
          <Copy text="text" what="a text" />
        </p>
        <DangerButton word="Delete" of="the example" loss="It is gone for good." act={() => undefined} />
        <nav className="tabs" aria-label="Example of tabs">
          <a href="#press" aria-current="page">
            The shown part
          </a>
          <a href="#press">Another part</a>
        </nav>
        <div className="fields">
          <label>
            A field
            <span className="hint">What belongs into it</span>
            <input autoComplete="off" />
          </label>
          <label>
            A choice
            <select value={choice} onChange={(event) => setChoice(event.target.value)}>
              <option value="one">One</option>
              <option value="other">The other</option>
            </select>
          </label>
          <label className="check">
            <input type="checkbox" />A thing to agree to
          </label>
        </div>
      </section>
      <section className="card stack" aria-labelledby="say">
        <h2 id="say">What is said</h2>
        <p className="row">
          <span className="badge">public sale</span>
          <span className="badge off">closed</span>
          <span className="badge warn">local chain only</span>
        </p>
        <p className="notice">A word beside the work.</p>
        <p className="notice good">It is done.</p>
        <p className="notice warn">Look at this before you go on.</p>
        <p className="notice wrong">It was refused, and why.</p>
        <Loading what="an example" />
        <progress value={7} max={10} aria-label="An example of progress" />
      </section>
      <section className="stack" aria-labelledby="figures">
        <h2 id="figures">What is shown</h2>
        <dl className="tiles">
          <div className="card">
            <dt>A figure</dt>
            <dd>1,234 of 10,000</dd>
            <dd className="more">and what is done with it</dd>
          </div>
          <div className="card">
            <dt>Another one</dt>
            <dd>0.25 ETH</dd>
          </div>
        </dl>
        <div className="card stack">
          <dl className="facts">
            <dt>An address</dt>
            <dd>
              <Address address="0x25d5bf305aa1fbd778b05aaa454405d0094cfa96" chain="" of="the example" />
            </dd>
            <dt>A time</dt>
            <dd>
              <Time at={Date.now() - 7_200_000} />
            </dd>
          </dl>
          <MintPlot counted={{ from: 0, mints: Array.from({ length: 24 }, (_, hour) => (hour * 7) % 11) }} />
        </div>
      </section>
    </div>
  );
}
