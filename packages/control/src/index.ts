export { type App, type AppOptions, stages, startApp } from "./app.ts";
export { createDoors } from "./serve.ts";
