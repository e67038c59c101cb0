export * from "./agent/index.ts";
export * from "./errors.ts";
export * from "./ids.ts";
export * from "./limits.ts";
export * from "./programs/layout.ts";
export * from "./programs/supervisor.ts";
export * from "./operations/index.ts";
