import process from "node:process";
import { parseHostArguments, usage } from "./arguments.ts";
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
    process.stdout.write(usage);
    return Object.hasOwn(verbs, verb) || verb === "help" || verb === "--help" ? 0 : 64;
  }
  if (process.getuid?.() !== 0) {
    process.stderr.write(
      `\`holdfast ${verb}\` needs root: it makes users, mounts and namespaces. Try it with sudo.\n`,
    );
    return 77;
  }
  return verbs[verb as keyof typeof verbs](parseHostArguments(rest));
};

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
// Connections to the programs' sockets would keep the process.
process.exit();
