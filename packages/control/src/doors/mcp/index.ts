export { createMcpDoor, type McpDoorOptions } from "./door.ts";
export type { McpEndpoint } from "./endpoint.ts";
