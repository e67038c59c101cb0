import { createComputer } from "./computer.ts";
import { type Assistant, type Instance, useInstance } from "./instance.ts";

/** The run's instance with a new assistant. Await it at the top of a file: as `useInstance`, it registers the file's leak check. */
export const useAssistant = async (): Promise<{
  readonly instance: Instance;
  readonly assistant: Assistant;
}> => {
  const instance = await useInstance();
  return { instance, assistant: await instance.assistant() };
};

/** The same with a computer of that assistant, awake. */
export const useComputer = async (): Promise<{
  readonly instance: Instance;
  readonly assistant: Assistant;
  readonly computer: string;
}> => {
  const used = await useAssistant();
  return { ...used, computer: await createComputer(used.assistant) };
};
