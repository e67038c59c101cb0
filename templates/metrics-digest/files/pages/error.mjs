import { layout } from "./layout.mjs";
import { problem } from "./problem.mjs";

export const errorPage = (status, message) =>
  layout({
    title: String(status),
    content: problem({ status, message, back: "To the newest digest" }),
  });
