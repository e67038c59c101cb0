export type { Attachment } from "./attach.ts";
export { type Call, type ClientOptions, createClient, type Download, type HoldfastClient } from "./client.ts";
export type { Bytes } from "./connection.ts";
export { HoldfastApiError, HoldfastConnectionError } from "./errors.ts";
export type { FileEvent, HoldfastEvent, ProcessEvent } from "./events.ts";
export type { Runtime } from "./lib/runtime.ts";
export type { CallOptions } from "./request.ts";
export { type ErrorCode, errorTable, HoldfastError } from "@holdfast/contract";
