import type { OperationOutput } from "@holdfast/contract";
import { clip, moreAt } from "./words.ts";

type Service = OperationOutput<"service.get">;

export const serviceLine = (service: Service): string => {
  const command = service.command ?? (service.argv ?? []).join(" ");
  const port = service.port === null ? "" : `, port ${service.port}`;
  const restarts = service.restarts > 0 ? `, restarted ${service.restarts} times` : "";
  const reason = service.reason === null ? "" : `\n  reason: ${service.reason}`;
  const hint =
    service.desired_state === "running" && service.state !== "ready"
      ? "\n  service_logs shows what it says; service_get shows its state."
      : "";
  return `${service.name} (${service.id}) is ${service.state}${port}${restarts}, version ${service.version}: ${clip(command, 200)}${reason}${hint}`;
};

export const serviceList = (output: OperationOutput<"service.list">): string =>
  output.services.length === 0
    ? "No services. Declare one with service_create."
    : [...output.services.map(serviceLine), ...moreAt("service_list", output.next_cursor)].join("\n");

export const serviceLog = (output: OperationOutput<"service.logs">): string =>
  [
    output.text === "" ? "(nothing new)" : output.text.replace(/\n$/, ""),
    output.more
      ? `There is more: service_logs with cursor ${output.next_cursor}.`
      : `This is the end; later lines: service_logs with cursor ${output.next_cursor}.`,
  ].join("\n");
