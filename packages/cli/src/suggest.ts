import { operations } from "@holdfast/contract";
import type { Command } from "commander";

export interface Suggestion {
  /** What was typed that is no command, with the words before it. */
  readonly typed: string;
  /** Full commands, the likeliest first. */
  readonly instead: readonly string[];
  /** The verbs of the noun that was meant, one a line; empty when no noun was recognised. */
  readonly usage: readonly string[];
}

/**
 * What the person may have meant by words that name no command: the operation's own name (`computers get` is `computers show`), a verb
 * of another tongue (`ls`, `rm`), one noun instead of many, or a slip of the fingers. Undefined when the words do name a command.
 */
export const suggest = (program: Command, words: readonly string[]): Suggestion | undefined => {
  const [first, second] = program.parseOptions([...words]).operands;
  if (first === undefined) return undefined;
  const noun = nounOf(program, first);
  if (!noun) {
    const instead = [...near(first, namesOf(program)), ...nounsWith(program, first)];
    return { typed: first, instead, usage: [] };
  }
  const verbs = namesOf(noun);
  if (verbs.length === 0)
    return noun.name() === first ? undefined : { typed: first, instead: [noun.name()], usage: [] };
  if (noun.name() === first && (second === undefined || verbs.includes(second))) return undefined;
  const found = second === undefined ? [] : verbsFor(noun.name(), second, verbs);
  return {
    typed: [first, second].filter((word) => word !== undefined).join(" "),
    instead: found.map((verb) => `${noun.name()} ${verb}`),
    usage: usageOf(noun),
  };
};

/** The verbs of a noun with their arguments and what they do, aligned. */
export const usageOf = (noun: Command): readonly string[] => {
  const lines = noun.commands.map((verb) => [callOf(verb, noun.name()), verb.summary()] as const);
  const width = Math.max(...lines.map(([call]) => call.length));
  return lines.map(([call, summary]) => `  ${call.padEnd(width)}  ${summary}`);
};

/** How the command that the words name is called, with its arguments; undefined when they name none. */
export const callFor = (program: Command, words: readonly string[]): string | undefined => {
  const [first, second] = program.parseOptions([...words]).operands;
  const outer = program.commands.find((command) => command.name() === first);
  const inner = outer?.commands.find((command) => command.name() === second);
  if (outer && inner) return callOf(inner, outer.name());
  return outer && callOf(outer, "");
};

const callOf = (verb: Command, noun: string): string => {
  const given = verb.registeredArguments.map((argument) => {
    const name = argument.variadic ? `${argument.name()}…` : argument.name();
    return argument.required ? `<${name}>` : `[${name}]`;
  });
  return [noun, verb.name(), ...given].filter((word) => word !== "").join(" ");
};

/** Verbs of other programs, and ours for the same. */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  ls: ["list"],
  all: ["list"],
  dir: ["list"],
  get: ["show", "list", "follow"],
  describe: ["show"],
  info: ["show", "stat"],
  inspect: ["show"],
  status: ["show", "list"],
  list: ["follow", "show"],
  watch: ["follow", "watch"],
  stream: ["follow"],
  tail: ["follow", "logs"],
  log: ["logs", "output", "history"],
  new: ["create"],
  add: ["create", "add", "invite"],
  make: ["create", "mkdir"],
  run: ["exec", "start", "run"],
  trigger: ["run", "fire"],
  cron: ["create"],
  undo: ["restore"],
  clone: ["fork", "clone"],
  copy: ["fork"],
  branch: ["fork"],
  backup: ["create", "export"],
  keep: ["promote", "create"],
  approve: ["accept"],
  merge: ["accept"],
  decline: ["reject"],
  withdraw: ["reject"],
  wait: ["follow"],
  abort: ["cancel"],
  enable: ["resume"],
  disable: ["pause"],
  next: ["preview"],
  rm: ["destroy", "delete", "revoke", "remove"],
  remove: ["destroy", "delete", "revoke", "remove"],
  delete: ["destroy", "revoke", "remove"],
  destroy: ["delete", "remove"],
  kill: ["signal", "stop"],
  start: ["wake", "start"],
  resume: ["wake"],
  pause: ["sleep"],
  suspend: ["sleep"],
  set: ["update", "use"],
  edit: ["update"],
  switch: ["use"],
  select: ["use"],
  cat: ["read"],
  put: ["write", "upload"],
  cp: ["upload", "download"],
  mv: ["move"],
  browse: ["open"],
  visit: ["open"],
  link: ["open"],
  ship: ["deploy"],
  release: ["deploy", "publish"],
  rollback: ["restore"],
  revert: ["restore"],
  fetch: ["pull"],
  visitors: ["access"],
  signin: ["login"],
  signup: ["enrol"],
  enroll: ["enrol"],
};

/** By the operation's own name first, then what others call it, then by likeness. */
const verbsFor = (noun: string, typed: string, verbs: readonly string[]): readonly string[] => {
  const word = typed.toLowerCase();
  if (verbs.includes(word)) return [word];
  const named = Object.values(operations)
    .filter(({ command, name }) => command.noun === noun && name.split(".")[1] === word)
    .map(({ command }) => command.verb);
  if (named.length > 0) return named;
  const known = (synonyms[word] ?? []).filter((verb) => verbs.includes(verb));
  return [...new Set([...known, ...near(word, verbs)])].slice(0, 3);
};

/** `computer`, `Computers` and `comptuers` are all the noun `computers`. */
const nounOf = (program: Command, typed: string): Command | undefined => {
  const word = typed.toLowerCase();
  const exact = program.commands.find((command) => [word, `${word}s`, `${word}es`].includes(command.name()));
  if (exact) return exact;
  const [likely, ...others] = near(word, namesOf(program));
  return others.length === 0 ? program.commands.find((command) => command.name() === likely) : undefined;
};

/** Nouns that have such a verb: `create` may be `computers create`. */
const nounsWith = (program: Command, typed: string): readonly string[] =>
  program.commands
    .filter((noun) => noun.commands.length > 0)
    .flatMap((noun) => {
      const [verb] = verbsFor(noun.name(), typed, namesOf(noun));
      return verb === undefined ? [] : [`${noun.name()} ${verb}`];
    })
    .slice(0, 5);

const namesOf = (parent: Command): readonly string[] => parent.commands.map((command) => command.name());

/** Names at most two slips away, or one for short words; and those that only go on: `comp` is `computers`. */
const near = (typed: string, names: readonly string[]): readonly string[] =>
  names
    .map((name) => ({
      name,
      slips: typed.length >= 3 && name.startsWith(typed) ? 0 : slips(typed, name),
    }))
    .filter(({ name, slips: count }) => count <= (Math.min(typed.length, name.length) < 5 ? 1 : 2))
    .toSorted((one, other) => one.slips - other.slips)
    .map(({ name }) => name);

/** Letters to add, drop, replace, or swap with the next one, to make one word of the other. */
const slips = (one: string, other: string): number => {
  let [beforeLast, last]: [readonly number[], readonly number[]] = [
    [],
    Array.from({ length: other.length + 1 }, (_, index) => index),
  ];
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const same = one[row - 1] === other[column - 1];
      const swapped =
        row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      next.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (next[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (same ? 0 : 1),
          swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      );
    }
    [beforeLast, last] = [last, next];
  }
  return last[other.length] ?? 0;
};
