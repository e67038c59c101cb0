/** On the computer itself, also while the board runs: `node manage.mjs list`, or `node manage.mjs delete <id>…`. */
import { join } from "node:path";
import process from "node:process";
import { openBoard } from "./lib/board.mjs";

const board = openBoard(join(import.meta.dirname, "data/board.sqlite"));
const [verb, ...ids] = process.argv.slice(2);

if (verb === "list") {
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const listed = board.list({ sort: "new", page });
    pages = listed.pages;
    for (const one of listed.feedback) console.log(JSON.stringify(one));
  }
} else if (verb === "delete" && ids.length > 0) {
  for (const id of ids) console.log(board.delete(Number(id)) ? `${id} deleted` : `${id} is not on the board`);
} else {
  console.error("usage: node manage.mjs list | delete <id>…");
  process.exitCode = 2;
}
board.close();
