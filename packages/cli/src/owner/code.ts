import { plainLoginCode } from "@holdfast/contract";
import { CliError, exitCodes } from "../errors.ts";

/** The code as it was typed. Throws when it cannot be one, so that nobody thinks of a passphrase first. */
export const checkedCode = (code: string): string => {
  if (/^[0-9a-hjkmnp-tv-z]{20}$/.test(plainLoginCode(code))) return code;
  throw new CliError(
    "This is no one-time code",
    "One has 20 letters and digits, like abcde-fghjk-mnpqr-stvwx.",
    `Copy all of it, or get a new one: ${whereFrom}.`,
    exitCodes.usage,
  );
};

const whereFrom =
  "`holdfast owner login` on the host, as root, or another owner's `holdfast owners invite <name>`";
