/**
 * Elements for the page. All text goes in as text nodes, and nothing here reads markup.
 */

const ADDRESS = /^(#\/|blob:)/;
const REFUSED = /^(on|style$|src|action$|formaction$|xlink)/;

/**
 * Return a new element.
 * @param {string} name
 * @param {Object} attributes A function listens to the event of its name (`onclick`); true sets an empty attribute.
 * @param {...*} children Elements and texts; lists are flattened, null and false are left out.
 */
export function el(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) setAttribute(made, key, value);
  made.append(...shown(children));
  return made;
}

/** Put other children into an element. */
export function fill(place, ...children) {
  place.replaceChildren(...shown(children));
}

/** Return a link to a view of this page. */
export function link(address, ...children) {
  return el("a", { href: address }, ...children);
}

/** Return a button that calls a function. */
export function button(text, onclick, attributes = {}) {
  return el("button", { type: "button", onclick, ...attributes }, text);
}

/** Return a form field below its label. */
export function field(label, control, hint = null) {
  return el("label", { class: "field" }, el("span", {}, label), control, hint && el("small", {}, hint));
}

/** Return a select of values and their labels. */
export function choice(options, attributes = {}) {
  return el("select", attributes, options.map(([value, label]) => el("option", { value }, label)));
}

/** Return a line of small facts, each set apart from the next. */
export function meta(...parts) {
  return el("div", { class: "meta" }, shown(parts).map((part) => (part instanceof Element ? part : el("span", {}, part))));
}

/** Return the heading of a view, with a line below it. */
export function heading(title, below = null, ...beside) {
  return el("div", { class: "heading" }, el("div", {}, el("h1", {}, title), below && el("p", { class: "quiet" }, below)), beside);
}

function shown(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

function setAttribute(element, key, value) {
  if (typeof value === "function") {
    element.addEventListener(key.slice(2), value);
    return;
  }
  if (REFUSED.test(key) || (key === "href" && !ADDRESS.test(value))) throw new Error(`an element has no ${key} here`);
  if (value === true) element.setAttribute(key, "");
  else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
}
