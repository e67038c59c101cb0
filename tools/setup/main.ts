import process from "node:process";
import { fitted } from "@holdfast/cli/lines";
import { parseHostArguments, usage } from "./arguments.ts";
import { widthFor } from "./progress.ts";
import { doctor } from "./verbs/doctor.ts";
import { down } from "./verbs/down.ts";
import { install } from "./verbs/install.ts";
import { ownerLogin } from "./verbs/owner-login.ts";
import { run } from "./verbs/run.ts";
import { status } from "./verbs/status.ts";
import { up } from "./verbs/up.ts";

// The verbs about the host itself; see bin/holdfast.mjs.
const verbs = { up, down, status, doctor, install, run, "owner login": ownerLogin };

const main = async (argv: readonly string[]): Promise<number> => {
  const words = argv[0] === "owner" && argv[1] === "login" ? 2 : 1;
  const verb = argv.slice(0, words).join(" ") || "help";
  const rest = argv.slice(words);
  if (!Object.hasOwn(verbs, verb) || rest.includes("--help") || rest.includes("-h")) {
    process.stdout.write(broken(usage, widthFor(process.stdout)));
    return Object.hasOwn(verbs, verb) || verb === "help" || verb === "--help" ? 0 : 64;
  }
  if (process.getuid?.() !== 0) {
    process.stderr.write(
      `\`holdfast ${verb}\` needs root: what it looks at and changes on this host is root's alone. Try it with sudo.\n`,
    );
    return 77;
  }
  return verbs[verb as keyof typeof verbs](parseHostArguments(rest));
};

/** Broken between words where a person looks; what stands right of a name or an indent stays right of it. */
const broken = (text: string, width: number | undefined): string =>
  `${fitted(text.trimEnd(), /^( +\S(?:.*?\S)? {2,}|\s*)(.*)$/, width)}\n`;

/** What went wrong, for people; answers the exit status. */
const tell = (error: unknown): number => {
  const said = error instanceof Error ? error.message : String(error);
  const isUsage =
    error instanceof TypeError && "code" in error && String(error.code).startsWith("ERR_PARSE_ARGS_");
  // Node's own words about options go on with a lesson on parsing.
  const text = isUsage ? `${said.split(/[.\n]/)[0]}. See \`holdfast up --help\`.` : said;
  process.stderr.write(broken(text, widthFor(process.stderr)));
  return isUsage ? 64 : 1;
};

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.exitCode = tell(error);
}
// Connections to the programs' sockets would keep the process.
process.exit();
