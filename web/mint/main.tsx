/** @jsxImportSource preact */
import { render } from "preact";
import "../shared/theme.css";
import "./mint.css";
import { MintPage } from "./mint-page.tsx";

const root = document.getElementById("page");
if (root) {
  root.replaceChildren();
  render(<MintPage path={location.pathname.replace(/\/$/, "")} />, root);
}
