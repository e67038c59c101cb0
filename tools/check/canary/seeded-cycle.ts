// The other half of the seeded import cycle; see seeded-defects.ts.
import { first } from "./seeded-defects.ts"; // import/no-cycle

export const second = 2;

export function around(): void {
  first();
}
