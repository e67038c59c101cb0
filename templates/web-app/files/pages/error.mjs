import { layout } from "./layout.mjs";
import { problem } from "./problem.mjs";

export const errorPage = (status, message) =>
  layout({
    title: `${status} · Web app`,
    content: problem({ status, message, back: "Back to the first page" }),
  });
