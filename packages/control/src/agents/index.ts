export { type AgentsOptions, SocketAgents } from "./agents.ts";
