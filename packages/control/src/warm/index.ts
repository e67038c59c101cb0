export { wantedOf } from "./judge.ts";
export { WarmPool } from "./pool.ts";
