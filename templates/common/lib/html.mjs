/** A piece of HTML. Whatever is put into one is escaped, unless it is a piece itself: nobody's text becomes markup. */
class Html {
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** html`<p>${text}</p>`. Arrays are joined; null, undefined and false leave nothing. Attributes must be quoted. */
export const html = (strings, ...values) =>
  new Html(
    strings.map((string, index) => string + (index < values.length ? render(values[index]) : "")).join(""),
  );

const render = (value) => {
  if (value instanceof Html) return value.text;
  if (Array.isArray(value)) return value.map(render).join("");
  if (value === null || value === undefined || value === false) return "";
  return String(value).replace(/[&<>"']/g, (character) => escapes[character]);
};

const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
