export { type Candidates, MemoryPressure } from "./pressure.ts";
