import { operations } from "@holdfast/contract";

/** The input fields of an operation, by name. */
export type Shape = Readonly<Record<string, unknown>>;

/** The contract's words for people at a command line: tools become verbs, fields become flags, code quotes become plain ones. */
export const commandWords = (text: string, shape: Shape): string =>
  text.replaceAll(/`([^`]+)`/g, (_whole, quoted: string) => {
    const operation = Object.values(operations).find(({ tool }) => tool === quoted);
    if (operation) return `'${operation.command.noun} ${operation.command.verb}'`;
    if (quoted === "argv" && "argv" in shape) return "words after --";
    return quoted in shape ? `--${flagName(quoted)}` : `'${quoted}'`;
  });

/** `wait_ms` is `--wait`: its value carries the unit. */
export const flagName = (field: string): string => field.replace(/_(ms|bytes)$/, "").replaceAll("_", "-");
