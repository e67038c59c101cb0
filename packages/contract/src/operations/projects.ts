import { z } from "zod";
import { idPattern, idSchema } from "../ids.ts";
import { limits } from "../limits.ts";
import { publicRule } from "../programs/gateway.ts";
import {
  computerRef,
  flag,
  ifMatch,
  nameSchema,
  nextCursor,
  page,
  reachErrors,
  timestamp,
  version,
} from "./common.ts";
import { operation } from "./define.ts";
import { serviceDefinition, serviceView } from "./services.ts";

/** What is before the project domain in an address: for life, and never again another's. */
export const slugSchema = nameSchema.refine((slug) => slug.length <= limits.slugLength);

/** Slugs are unique, names only within a computer: so a project is told by id or slug. */
export const projectRef = z
  .string()
  .max(64)
  .refine(
    (text) => idPattern("project").test(text) || slugSchema.safeParse(text).success,
    "a project's id (prj_…) or slug",
  )
  .describe("The project: its id (prj_…) or its slug (the first part of its address)");

export const templateNames = [
  "blank",
  "static-site",
  "web-app",
  "api",
  "webhook-inbox",
  "feedback-board",
  "metrics-digest",
  "scheduled-report",
] as const;

const { cwd: _cwd, user: _user, ...serviceFields } = serviceDefinition;

/** A service of a project. On the computer it is called `<project>-<name>`. */
export const projectService = z
  .object({
    name: nameSchema.max(20),
    ...serviceFields,
    cwd: z
      .string()
      .max(1024)
      .regex(/^(?!\/)(?!.*(^|\/)\.\.(\/|$))[^\0]*$/, "a path inside the project's folder")
      .default(".")
      .describe("Working directory, from the project's folder"),
    port: serviceFields.port.describe(
      "The TCP port it listens on, given to it as PORT. Default: a free one is assigned to the web service",
    ),
  })
  .strict();

/** What a project runs. `holdfast.json` is its form in files; it is never read by itself. */
export const projectDefinition = z
  .object({
    services: z.array(projectService).max(limits.servicesPerProject).default([]),
    web: nameSchema.max(20).nullable().default(null).describe("The service behind the address"),
  })
  .strict();

const commitId = z
  .string()
  .regex(/^[0-9a-f]{7,40}$/, "a commit id, whole or at least its first 7 digits")
  .describe("A commit: its id, whole or at least its first 7 digits");

export const deploymentView = z.looseObject({
  id: idSchema("deployment"),
  commit: z.string().describe("As it was reported by git in the computer at that time"),
  message: z.string(),
  principal: z.string().describe("Who deployed"),
  definition_version: z.string(),
  deployed_at: timestamp,
});

export const projectView = z.looseObject({
  id: idSchema("project"),
  name: z.string(),
  slug: z.string(),
  description: z.string(),
  computer: z.string(),
  folder: z.string().describe("Where its files are on the computer"),
  address: z.string().describe("The URL of its web service, for life"),
  visibility: z.enum(["private", "published"]),
  published: z.array(publicRule).nullable().describe("What is open to everyone; null while it is private"),
  template: z.string(),
  definition: projectDefinition.describe("What it should run; deploy makes it so"),
  state: z
    .enum(["not_deployed", "running", "starting", "failed", "stopped", "no_service"])
    .describe("How its web service does"),
  services: z.array(serviceView).describe("Its services as they are deployed"),
  deployment: deploymentView.nullable().describe("The last one"),
  schedules: z
    .array(
      z.looseObject({
        id: idSchema("schedule"),
        name: z.string(),
        state: z.enum(["active", "paused", "ended"]),
        next_slot: timestamp.nullable(),
        last_run: z
          .looseObject({
            id: idSchema("run"),
            state: z.string(),
            reason: z.string().nullable(),
            created_at: timestamp,
            ended_at: timestamp.nullable(),
          })
          .nullable(),
      }),
    )
    .describe("What runs for it at set times, each with its last run"),
  owner: z.string().describe("The principal it belongs to"),
  next: z.array(z.string()).describe("What to do next"),
  created_at: timestamp,
  updated_at: timestamp,
  version,
});

const waits = {
  wait_ms: z.coerce
    .number()
    .int()
    .min(0)
    .max(limits.waitMs)
    .default(20_000)
    .describe("How long to wait for its services to be ready"),
};
const message = z
  .string()
  .min(1)
  .max(limits.commitMessageLength)
  .refine((text) => !text.includes("\0"), "no NUL")
  .describe("What the commit says");
const one = { project: projectRef };
const withGit = [...reachErrors, "git_failed", "disk_full", "process_limit", "spawn_failed"] as const;

export const projectCreate = operation({
  name: "project.create",
  title: "Create a project",
  summary: "Create a project from a template and get its address",
  description:
    "Makes a folder under /work on the computer with a git repository, files and services from a template, starts it, and answers with its address. The address is private until an owner publishes it, and stays the same for life. Templates: `blank` (empty), `static-site`, `web-app` (Node), `api` (Python), `webhook-inbox` (stores what is posted), `feedback-board` (form and list with a database), `metrics-digest` (a weekly schedule makes a page with charts from CSV or SQLite), `scheduled-report` (a daily schedule makes a report). Afterwards edit the files with the file tools and call `project_deploy`.",
  input: z.object({
    computer: computerRef,
    name: nameSchema.max(19).describe("Unique on the computer; the folder is /work/<name>"),
    slug: slugSchema
      .optional()
      .describe("The first part of the address. Default: the name, with an ending if it is taken"),
    template: z.enum(templateNames).default("blank").describe("What it begins as"),
    description: z
      .string()
      .max(limits.descriptionLength)
      .default("")
      .describe("What it is for; shown in lists"),
    ...waits,
  }),
  output: projectView,
  route: { method: "POST", path: "/v1/projects" },
  errors: [...withGit, "name_taken", "file_exists", "operation_running", "idempotency_mismatch"],
  consequence: "prepare",
  idempotent: true,
  versioned: true,
  command: { noun: "projects", verb: "create", arguments: ["computer", "name"] },
});

export const projectList = operation({
  name: "project.list",
  title: "List projects",
  summary: "List your projects with their addresses",
  description: "Lists projects with their addresses, whether they are published, and how they do.",
  input: z.object({ computer: computerRef.optional(), ...page }),
  output: z.looseObject({ projects: z.array(projectView), next_cursor: nextCursor }),
  route: { method: "GET", path: "/v1/projects" },
  errors: ["not_found"],
  consequence: "observe",
  command: { noun: "projects", verb: "list", arguments: [] },
});

export const projectGet = operation({
  name: "project.get",
  title: "Look at a project",
  summary: "Show one project",
  description: "Answers a project: its address, definition, services and last deployment.",
  input: z.object(one),
  output: projectView,
  route: { method: "GET", path: "/v1/projects/{project}" },
  errors: ["not_found"],
  consequence: "observe",
  versioned: true,
  command: { noun: "projects", verb: "show", arguments: ["project"] },
});

export const projectUpdate = operation({
  name: "project.update",
  title: "Change a project",
  summary: "Change a project's description or what it runs",
  description:
    "Replaces the description or the whole definition (services, and which one is behind the address). What it runs changes at the next `project_deploy`.",
  input: z.object({
    ...one,
    description: z
      .string()
      .max(limits.descriptionLength)
      .optional()
      .describe("What it is for; shown in lists"),
    definition: projectDefinition.optional().describe("What it should run, as a whole"),
    if_match: ifMatch,
  }),
  output: projectView,
  route: { method: "PATCH", path: "/v1/projects/{project}" },
  errors: ["not_found", "version_mismatch", "version_required"],
  consequence: "prepare",
  versioned: true,
  repeatable: true,
  command: { noun: "projects", verb: "update", arguments: ["project"] },
});

export const projectDestroy = operation({
  name: "project.destroy",
  title: "Destroy a project",
  summary: "Stop a project and give up its address",
  description:
    "Stops and removes its services, closes its address for good (nobody else gets it) and forgets its shares. The folder stays on the computer unless you say `delete_files`.",
  input: z.object({ ...one, delete_files: flag.default(false).describe("Delete its folder too") }),
  output: projectView,
  route: { method: "DELETE", path: "/v1/projects/{project}" },
  errors: ["not_found", "cell_unreachable", "computer_starting", "computer_failed", "host_full"],
  consequence: "modify",
  destructive: true,
  repeatable: true,
  command: { noun: "projects", verb: "destroy", arguments: ["project"] },
});

const deployed = z.looseObject({ project: projectView, deployment: deploymentView });

export const projectDeploy = operation({
  name: "project.deploy",
  title: "Deploy a project",
  summary: "Commit what is in the folder and run it",
  description:
    "Commits everything in the project's folder, starts its services anew by the definition, and waits for them. Read `project.services` in the reply: if one is not `ready`, `service_logs` says why. An earlier commit is brought back with `project_restore`.",
  input: z.object({ ...one, message: message.default("Deploy"), ...waits }),
  output: deployed,
  route: { method: "POST", path: "/v1/projects/{project}/deploy" },
  errors: [...withGit, "name_taken", "operation_running", "idempotency_mismatch"],
  consequence: "prepare",
  idempotent: true,
  command: { noun: "projects", verb: "deploy", arguments: ["project"] },
});

export const projectHistory = operation({
  name: "project.history",
  title: "Read a project's history",
  summary: "List a project's commits, newest first",
  description:
    "Lists the commits of the project's repository as git in the computer tells them. `deployment` is what was recorded outside when that commit was deployed; a commit without one was made inside the computer.",
  input: z.object({ ...one, ...page }),
  output: z.looseObject({
    commits: z.array(
      z.looseObject({
        commit: z.string(),
        message: z.string(),
        author: z.string(),
        at: timestamp,
        deployment: deploymentView.nullable(),
      }),
    ),
    next_cursor: nextCursor,
  }),
  route: { method: "GET", path: "/v1/projects/{project}/history" },
  errors: withGit,
  consequence: "observe",
  command: { noun: "projects", verb: "history", arguments: ["project"] },
});

export const projectDiff = operation({
  name: "project.diff",
  title: "Compare versions of a project",
  summary: "Show what changed since a commit",
  description:
    "Answers a unified diff. Without `from` and `to`: what is in the folder against the last commit. With `from` alone: the folder against that commit.",
  input: z.object({ ...one, from: commitId.optional(), to: commitId.optional() }),
  output: z.looseObject({ diff: z.string(), truncated: z.boolean() }),
  route: { method: "GET", path: "/v1/projects/{project}/diff" },
  errors: withGit,
  consequence: "observe",
  command: { noun: "projects", verb: "diff", arguments: ["project"] },
});

export const projectRestore = operation({
  name: "project.restore",
  title: "Restore a version of a project",
  summary: "Bring back the files of an earlier commit and run them",
  description:
    "Commits what is in the folder, then makes the tracked files as they were at `commit`, as a new commit on top (nothing of the history is lost), and deploys it.",
  input: z.object({ ...one, commit: commitId, ...waits }),
  output: deployed,
  route: { method: "POST", path: "/v1/projects/{project}/restore" },
  errors: [...withGit, "name_taken", "operation_running", "idempotency_mismatch"],
  consequence: "modify",
  idempotent: true,
  command: { noun: "projects", verb: "restore", arguments: ["project", "commit"] },
});

const format = z
  .enum(["tar", "bundle"])
  .default("tar")
  .describe(
    "`tar`: the tracked files as they were deployed; `bundle`: the repository with its history (`git bundle`)",
  );

export const projectExport = operation({
  name: "project.export",
  title: "Export a project",
  summary: "Stream a project as tar or git bundle",
  description: "The last commit's files as a tar, or the whole repository as a `git bundle`.",
  input: z.object({ ...one, format }),
  output: z.looseObject({}),
  route: { method: "GET", path: "/v1/projects/{project}/content" },
  reply: "bytes",
  errors: withGit,
  consequence: "observe",
  command: { noun: "projects", verb: "export", arguments: ["project"] },
});

export const projectImport = operation({
  name: "project.import",
  title: "Import into a project",
  summary: "Take over files (tar) or commits (git bundle)",
  description:
    "`tar`: the tracked files are replaced by the archive's. `bundle`: its branch is taken over if the project's last commit is an ancestor of it, or with `force`; uncommitted changes in the folder are committed first. Nothing is started: deploy afterwards.",
  input: z.object({
    ...one,
    format,
    force: flag.default(false).describe("Also when that takes commits away from the project"),
  }),
  output: z.looseObject({ commit: z.string(), project: projectView }),
  route: { method: "PUT", path: "/v1/projects/{project}/content" },
  body: "bytes",
  errors: [...withGit, "archive_refused", "too_large", "operation_running"],
  consequence: "prepare",
  destructive: true,
  command: { noun: "projects", verb: "import", arguments: ["project"] },
});
