import { readBody } from "./http.mjs";

export const kinds = { idea: "Idea", problem: "Problem", praise: "Praise" };
export const textLength = 1000;
export const authorLength = 60;

/** What the form says, and for each field that is not as it must be, what to do about it. */
export const readForm = async (request) => {
  const form = new URLSearchParams((await readBody(request, 16 * 1024)).toString());
  const values = {
    kind: form.get("kind") ?? "",
    // Browsers send line ends as two characters, and count them as one.
    text: (form.get("text") ?? "").replaceAll("\r\n", "\n").trim(),
    author: (form.get("author") ?? "").trim(),
  };
  const errors = {};
  if (!Object.hasOwn(kinds, values.kind)) errors.kind = "Choose one of the three.";
  if (values.text === "") errors.text = "Write what is on your mind.";
  else if (values.text.length > textLength)
    errors.text = `Make it shorter: at most ${textLength} characters.`;
  if (values.author.length > authorLength)
    errors.author = `Make it shorter: at most ${authorLength} characters.`;
  return { values, errors };
};
