export { findComputer, LivingComputers } from "./computers.ts";
export { Lifecycle } from "./lifecycle.ts";
export { Moves } from "./moves.ts";
export { Reconciler } from "./reconciler.ts";
export { computerView } from "./view.ts";
export { Watch } from "./watch.ts";
