// A name of our own for something forbidden; see seeded-invariants.ts.
export { randomBytes as aliased } from "node:crypto";
