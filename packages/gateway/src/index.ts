export { type Options, readOptions } from "./options.ts";
