import { html } from "../lib/html.mjs";
import { authorLength, kinds, textLength } from "../lib/form.mjs";

/** The form, with what was filled in and what is wrong with it. */
export const formOf = (values, errors) => {
  const wrong = (field) =>
    errors[field] && html`aria-invalid="true" aria-describedby="${field}-error" autofocus`;
  const message = (field) =>
    errors[field] && html`<p class="small alarm" id="${field}-error">${errors[field]}</p>`;
  return html`<form class="card stack" method="post" action="/feedback">
    <h2 id="write-title">Write something</h2>
    <fieldset>
      <legend>It is</legend>
      <div class="kinds">
        ${Object.entries(kinds).map(
          ([kind, label]) => html`<label class="kind ${kind}">
            <input type="radio" name="kind" value="${kind}" required ${(values.kind || "idea") === kind && html`checked`} />
            ${label}
          </label>`,
        )}
      </div>
      ${message("kind")}
    </fieldset>
    <div class="field">
      <label for="text">In your words</label>
      <textarea id="text" name="text" required maxlength="${textLength}" ${wrong("text")}>${values.text}</textarea>
      ${message("text")}
    </div>
    <div class="field">
      <label for="author">Your name <span class="muted">(if you like)</span></label>
      <input id="author" name="author" value="${values.author}" maxlength="${authorLength}" autocomplete="name" ${wrong("author")} />
      ${message("author")}
    </div>
    <button class="button">Send</button>
  </form>`;
};
