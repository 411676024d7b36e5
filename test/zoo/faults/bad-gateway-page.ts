import type { ReadFault } from "../fault.ts";
import { http } from "../plays.ts";

export const fault: ReadFault = {
  kind: "read",
  question: "logs",
  name: "HTTP 502 and HTML",
  source: "ProjectOpenSea/opensea-creatures#74",
  hits: "all",
  play: http(
    502,
    "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n</body>\r\n</html>\r\n",
  ),
  ends: { proofs: "right", logs: "right" },
};
