export * from "./frames.ts";
export * from "./messages.ts";
export * from "./methods.ts";
export type * from "./calls.ts";
