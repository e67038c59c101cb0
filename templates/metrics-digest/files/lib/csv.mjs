/** A CSV text as an array of rows, each an array of texts: quotes, commas and line breaks inside of quotes as RFC 4180 has them. */
export const parseCsv = (text) => {
  const rows = [];
  let row = [];
  let cell = "";
  let quoted = false;
  const endCell = () => {
    row.push(cell);
    cell = "";
  };
  const endRow = () => {
    endCell();
    // An empty line is no row.
    if (row.length > 1 || row[0] !== "") rows.push(row);
    row = [];
  };
  for (let at = text.charCodeAt(0) === 0xfeff ? 1 : 0; at < text.length; at += 1) {
    const character = text[at];
    if (quoted) {
      if (character !== '"') cell += character;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else quoted = false;
    } else if (character === '"' && cell === "") quoted = true;
    else if (character === ",") endCell();
    else if (character === "\n") endRow();
    else if (character !== "\r") cell += character;
  }
  if (quoted) throw new Error("The CSV file ends inside of quotes: one is not closed.");
  if (cell !== "" || row.length > 0) endRow();
  return rows;
};
