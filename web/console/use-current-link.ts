import { type RefObject, useEffect, useRef } from "react";

/**
 * Scrolls a row of links on a narrow screen so that the open page's link is in the middle.
 *
 * @param page the open page; empty while there are no links.
 */
export function useCurrentLink(page: string): RefObject<HTMLElement | null> {
  const row = useRef<HTMLElement>(null);
  useEffect(() => {
    if (page === "") return;
    const link = row.current?.querySelector("[aria-current]");
    if (!row.current || !link) return;
    const [inside, outside] = [link.getBoundingClientRect(), row.current.getBoundingClientRect()];
    row.current.scrollLeft += inside.left + inside.width / 2 - (outside.left + outside.width / 2);
  }, [page]);
  return row;
}
