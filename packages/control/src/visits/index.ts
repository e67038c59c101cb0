export { AccessLog } from "./access.ts";
export { Rights } from "./rights.ts";
export { Routes } from "./routes.ts";
export { checkRules } from "./rules.ts";
export { Waker, type WebServices, type WebState } from "./wake.ts";
