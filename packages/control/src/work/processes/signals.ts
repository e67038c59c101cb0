import type { signalNames } from "@holdfast/contract";

/** Linux numbers, the same on every architecture we run on. */
const numbers = {
  HUP: 1,
  INT: 2,
  QUIT: 3,
  ILL: 4,
  TRAP: 5,
  ABRT: 6,
  BUS: 7,
  FPE: 8,
  KILL: 9,
  USR1: 10,
  SEGV: 11,
  USR2: 12,
  PIPE: 13,
  ALRM: 14,
  TERM: 15,
  STKFLT: 16,
  CHLD: 17,
  CONT: 18,
  STOP: 19,
  TSTP: 20,
  TTIN: 21,
  TTOU: 22,
  URG: 23,
  XCPU: 24,
  XFSZ: 25,
  VTALRM: 26,
  PROF: 27,
  WINCH: 28,
  IO: 29,
  PWR: 30,
  SYS: 31,
} as const;

export const signalNumber = (name: (typeof signalNames)[number]): number => numbers[name];

/** `TERM` for 15; real-time signals by their number. */
export const signalName = (number: number): string =>
  Object.entries(numbers).find(([, value]) => value === number)?.[0] ?? `RT${number}`;
