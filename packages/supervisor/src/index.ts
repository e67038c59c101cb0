export { agentPath } from "./cells/oci-config.ts";
