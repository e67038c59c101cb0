import process from "node:process";
import { fitted } from "@holdfast/cli/lines";
import {
  complaint,
  type HostArguments,
  parseHostArguments,
  usage,
  usageOf,
  type VerbName,
} from "./arguments.ts";
import { widthFor } from "./progress.ts";
import { doctor } from "./verbs/doctor.ts";
import { down } from "./verbs/down.ts";
import { install } from "./verbs/install.ts";
import { ownerLogin } from "./verbs/owner-login.ts";
import { run } from "./verbs/run.ts";
import { status } from "./verbs/status.ts";
import { up } from "./verbs/up.ts";

// The verbs about the host itself; see bin/holdfast.mjs.
const verbs: Readonly<Record<VerbName, (options: HostArguments) => Promise<number>>> = {
  up,
  down,
  status,
  doctor,
  install,
  run,
  "owner login": ownerLogin,
};

const main = async (argv: readonly string[]): Promise<number> => {
  const words = argv[0] === "owner" && argv[1] === "login" ? 2 : 1;
  const verb = argv.slice(0, words).join(" ") || "help";
  const rest = argv.slice(words);
  if (!isVerb(verb) || rest.includes("--help") || rest.includes("-h")) {
    process.stdout.write(broken(isVerb(verb) ? usageOf(verb) : usage, widthFor(process.stdout)));
    return isVerb(verb) || verb === "help" || verb === "--help" ? 0 : 64;
  }
  if (process.getuid?.() !== 0) {
    process.stderr.write(
      `\`holdfast ${verb}\` needs root: what it looks at and changes on this host is root's alone. Try it with sudo.\n`,
    );
    return 77;
  }
  let options: HostArguments;
  try {
    options = parseHostArguments(rest);
  } catch (error) {
    const { isUsage, text } = complaint(verb, rest, error);
    process.stderr.write(broken(text, widthFor(process.stderr)));
    return isUsage ? 64 : 1;
  }
  return verbs[verb](options);
};

const isVerb = (word: string): word is VerbName => Object.hasOwn(verbs, word);

/** Broken between words where a person looks; what stands right of a name or an indent stays right of it. */
const broken = (text: string, width: number | undefined): string =>
  `${fitted(text.trimEnd(), /^( +\S(?:.*?\S)? {2,}|\s*)(.*)$/, width)}\n`;

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  const said = error instanceof Error ? error.message : String(error);
  process.stderr.write(broken(said, widthFor(process.stderr)));
  process.exitCode = 1;
}
// Connections to the programs' sockets would keep the process.
process.exit();
