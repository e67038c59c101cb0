import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { OperationInput } from "@holdfast/contract";
import type { Assistant, Instance } from "../instance.ts";
import { until } from "../until.ts";
import { visit } from "../visit.ts";

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  /** Names and values by turns, as they came. */
  readonly headers: readonly string[];
}

/** A project of an assistant whose app (`app.mjs`) remembers what reached it. */
export interface Site {
  readonly slug: string;
  readonly host: string;
  readonly origin: string;
  readonly computer: string;
  /** What reached the app, but for this question. By the assistant's key: it works whether or not the project is published. */
  seen(): Promise<readonly SeenRequest[]>;
  /** Until it is so for visitors. */
  publish(rules?: OperationInput<"project.publish">["rules"]): Promise<void>;
  unpublish(): Promise<void>;
  /** A link that signs in as an owner, once. */
  ticket(): Promise<string>;
  share(expiresInMs?: number): Promise<{ readonly id: string; readonly url: string }>;
}

/** A site of its own on the computer, private. `app` is what the app calls itself in its answers. */
export const openSite = async (
  {
    instance,
    assistant,
    computer,
  }: { readonly instance: Instance; readonly assistant: Assistant; readonly computer: string },
  app: string,
): Promise<Site> => {
  const { client } = assistant;
  const slug = `${app}-x${randomBytes(4).toString("hex")}`;
  const source = await readFile(join(import.meta.dirname, "app.mjs"), "utf8");
  await client.projects.create({ computer, name: app, slug });
  await client.files.write({ computer, path: `/work/${app}/app.mjs`, content: source });
  const { version } = await client.projects.get({ project: slug });
  const readiness = { kind: "http", path: "/seen", interval_ms: 500 } as const;
  const service = { name: "web", argv: ["node", "app.mjs"], environment: { APP: app }, readiness };
  await client.projects.update({
    project: slug,
    definition: { web: "web", services: [service] },
    if_match: version,
  });
  const { project } = await client.projects.deploy({ project: slug });
  if (project.state !== "running")
    throw new Error(`${slug} does not run: ${JSON.stringify(project.services)}`);
  const owner = await instance.owner();
  const headers = { "holdfast-key": assistant.secret };
  const becomes = (status: number): Promise<void> =>
    until(
      `${slug} answers ${status} to everyone`,
      async () => (await visit(instance, slug, { path: "/probe" })).status === status,
    );
  const host = `${slug}.${instance.projects.domain}:${instance.projects.port}`;
  return {
    slug,
    host,
    origin: `http://${host}`,
    computer,
    seen: async () => {
      const { status, body } = await visit(instance, slug, { path: "/seen", headers });
      if (status !== 200)
        throw new Error(`what ${slug} saw is not to be had: ${status} ${body.slice(0, 300)}`);
      // Readiness and this module's own questions.
      return (JSON.parse(body) as SeenRequest[]).filter(({ url }) => url !== "/probe");
    },
    publish: async (rules) => {
      await owner.projects.publish({ project: slug, ...(rules ? { rules } : {}) });
      if (!rules) await becomes(200);
    },
    unpublish: async () => {
      await owner.projects.unpublish({ project: slug });
      await becomes(404);
    },
    ticket: async () => (await owner.projects.open({ project: slug })).url,
    share: async (expiresInMs) => {
      const made = await owner.shares.create({
        project: slug,
        ...(expiresInMs ? { expires_in_ms: expiresInMs } : {}),
      });
      return { id: made.share.id, url: made.url };
    },
  };
};
