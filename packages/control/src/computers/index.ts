export { computerEvent } from "./events.ts";
export { findComputer, LivingComputers } from "./computers.ts";
export { Moves } from "./moves.ts";
export { Reconciler } from "./reconciler.ts";
export { Watch } from "./watch.ts";
