/**
 * Lists that load their pages one by one.
 */

import { get } from "./api.js";
import { button, el } from "./dom.js";
import { load } from "./states.js";

/**
 * Return a list that loads its pages one by one.
 * @param {string} path Of an operation with `cursor`.
 * @param {string} name Of the list in the answer.
 * @param {Function} draw Makes a list item's content.
 */
export function pages(path, name, draw, { query = {}, none, signal, label, limit = 50 }) {
  const list = el("ul", { class: "rows", "aria-label": label });
  const end = el("div", { class: "end" });
  let cursor = null;
  const more = () =>
    load(end, () => get(path, { ...query, limit, cursor }, signal), (page) => {
      list.append(...page[name].map((one) => el("li", {}, draw(one))));
      cursor = page.next_cursor;
      list.hidden = list.children.length === 0;
      if (cursor) return button("Show more", more, { class: "plain" });
      return list.hidden ? none : null;
    }, signal);
  list.hidden = true;
  more();
  return el("div", { class: "pages" }, list, end);
}
