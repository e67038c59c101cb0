import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { createComputer } from "../../support/computer.ts";
import type { Assistant, Instance } from "../../support/instance.ts";

export interface Sites {
  /** What each project's app says of itself, by the name before the domain. */
  readonly tags: ReadonlyMap<string, string>;
  /** The services that hold the apps, one for each computer. */
  readonly services: readonly { readonly computer: string; readonly service: string }[];
}

const firstPort = 22_000;
const perComputer = 20;

/** Published projects, twenty on a computer, whose apps say who they are. One process of a computer serves all of its projects. */
export const openSites = async (instance: Instance, assistant: Assistant, count: number): Promise<Sites> => {
  const owner = await instance.owner();
  const app = await readFile(join(import.meta.dirname, "app.mjs"), "utf8");
  const tags = new Map<string, string>();
  const services: { computer: string; service: string }[] = [];
  while (tags.size < count) {
    const computer = await createComputer(assistant);
    const name = `t${letter(services.length)}`;
    const ports = Array.from(
      { length: Math.min(perComputer, count - tags.size) },
      (_, index) => firstPort + index,
    );
    for (const [index, port] of ports.entries()) {
      const slug = `${name}-${letter(index)}`;
      await assistant.client.projects.create({ computer, name: slug, slug });
      await assistant.client.files.write({ computer, path: `/work/${slug}/app.mjs`, content: app });
      const { version } = await assistant.client.projects.get({ project: slug });
      const service = { name: "web", port, readiness: null, argv: ["sleep", "infinity"] };
      const serving = {
        ...service,
        argv: ["node", "app.mjs"],
        environment: { TAG: name, PORTS: ports.join(",") },
      };
      await assistant.client.projects.update({
        project: slug,
        definition: { web: "web", services: [index === 0 ? serving : service] },
        if_match: version,
      });
      await assistant.client.projects.deploy({ project: slug });
      await owner.projects.publish({ project: slug });
      tags.set(slug, `${name}:${port}`);
      if (index === 0) services.push({ computer, service: `${slug}-web` });
    }
  }
  return { tags, services };
};

const letter = (index: number): string => "abcdefghijklmnopqrstuvwxyz"[index] ?? "";
