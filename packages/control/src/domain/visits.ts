import type { ControlGatewayMethods } from "@holdfast/contract";
import type { RpcHandlers } from "@holdfast/kit";

/**
 * What gateway may ask about visitors and projects, method by method: `contract/programs/gateway.ts` says what each promises. None is an
 * operation, for no principal stands behind gateway. Filled by `visits/`.
 */
export type Visits = RpcHandlers<ControlGatewayMethods>;
