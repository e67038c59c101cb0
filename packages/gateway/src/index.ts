export { type App, type AppOptions, startApp } from "./app.ts";
export { type Options, readOptions } from "./options.ts";
