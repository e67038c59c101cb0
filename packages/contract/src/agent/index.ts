export * from "./frames.ts";
export * from "./messages.ts";
export type * from "./calls.ts";
