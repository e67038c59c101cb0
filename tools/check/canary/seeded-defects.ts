// Seeded defects. The linter must report every one of them in the run that judges the rest of the repository:
// when it cannot read the types, it says nothing about a whole class of findings and would pass anything.
// Each line that must be reported ends in the name of its rule.
import { second } from "./seeded-cycle.ts"; // import/no-cycle

type Door = "open" | "closed";

interface Thing {
  /** @deprecated Use `size`. */
  readonly length: number;
  readonly size: number;
}

async function work(): Promise<void> {}

export function first(): void {
  work(); // typescript/no-floating-promises
}

export function misused(items: readonly string[]): void {
  items.forEach(async () => work()); // typescript/no-misused-promises
}

export async function awaited(value: number): Promise<number> {
  return await value; // typescript/await-thenable
}

export function incomplete(door: Door): number {
  switch (
    door // typescript/switch-exhaustiveness-check
  ) {
    case "open":
      return second;
  }
  return 0;
}

export function untyped(text: string): number {
  const value = JSON.parse(text); // typescript/no-unsafe-assignment
  take(value); // typescript/no-unsafe-argument
  value(); // typescript/no-unsafe-call
  value.field; // typescript/no-unsafe-member-access
  return value; // typescript/no-unsafe-return
}

function take(_count: number): void {}

export function loose(value: any): unknown {
  // typescript/no-explicit-any
  return value;
}

export function sure(value: string | undefined): string {
  return value!; // typescript/no-non-null-assertion
}

export function thrown(): never {
  throw "text"; // typescript/only-throw-error
}

export function old(thing: Thing): number {
  return thing.length; // typescript/no-deprecated
}

export function equal(one: unknown, other: unknown): boolean {
  return one == other; // eslint/eqeqeq
}

export function older(): number {
  var one = 1; // eslint/no-var
  let two = 2; // eslint/prefer-const
  try {
    one += two;
  } catch {} // eslint/no-empty
  return one;
}
