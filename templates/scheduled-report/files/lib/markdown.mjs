/** A report as Markdown, for a terminal, a message or another program. */
export const asMarkdown = ({ title, id, sections }) =>
  [`# ${title}, ${id}`, ...sections.map(section)].join("\n\n");

const section = ({ title, summary, failed, items = [], table }) =>
  [
    `## ${title}`,
    `${failed ? "**Failed:** " : ""}${plain(summary)}`,
    items.map((item) => `- ${plain(item)}`).join("\n"),
    table ? tableOf(table) : "",
  ]
    .filter((part) => part !== "")
    .join("\n\n");

const tableOf = ({ head, rows }) =>
  [head, head.map(() => "---"), ...rows]
    .map((cells) => `| ${cells.map((cell) => plain(String(cell)).replaceAll("|", "\\|")).join(" | ")} |`)
    .join("\n");

/** What somebody else wrote stays on its line and is no markup. */
const plain = (text) => text.replaceAll(/\s+/g, " ").replaceAll(/[\\`*_[\]<>#]/g, "\\$&");
