export { App } from "./app.ts";
export { createProgram } from "./program.ts";
export { Console } from "./terminal/console.ts";
