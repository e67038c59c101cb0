import type { OperationOutput } from "@holdfast/contract";
import { clip, moreAt } from "./words.ts";

type Project = OperationOutput<"project.get">;
type Deployment = NonNullable<Project["deployment"]>;

export const projectText = (project: Project): string =>
  [
    headOf(project),
    ...(project.description === "" ? [] : [`  ${project.description}`]),
    `  files in ${project.folder} on ${project.computer}, ${deployedText(project.deployment)}, version ${project.version}`,
    ...project.services.map(
      ({ name, state, port, reason }) =>
        `  service ${name} is ${state}${port === null ? "" : `, port ${port}`}${reason === null ? "" : `: ${clip(reason, 300)}`}`,
    ),
    ...(project.next.length === 0 ? [] : ["Next:", ...project.next.map((step) => `- ${step}`)]),
  ].join("\n");

export const projectList = (output: OperationOutput<"project.list">): string =>
  output.projects.length === 0
    ? "No projects. Make one with project_create."
    : [...output.projects.map(headOf), ...moreAt("project_list", output.next_cursor)].join("\n");

export const deployText = ({ project, deployment }: OperationOutput<"project.deploy">): string =>
  `Deployed ${shortCommit(deployment.commit)} (${clip(deployment.message, 100)}).\n${projectText(project)}`;

export const historyText = (output: OperationOutput<"project.history">): string =>
  [
    ...output.commits.map(
      ({ commit, at, author, message, deployment }) =>
        `${shortCommit(commit)} ${at} ${clip(author, 60)}: ${clip(message.split("\n", 1)[0] ?? "", 100)}${deployment ? ", deployed" : ""}`,
    ),
    ...moreAt("project_history", output.next_cursor),
  ].join("\n");

export const diffText = ({ diff, truncated }: OperationOutput<"project.diff">): string => {
  if (diff === "") return "Nothing has changed.";
  return truncated ? `${diff}\n… the rest is cut; run git in the project's folder for all of it.` : diff;
};

const headOf = (project: Project): string =>
  `${project.slug} (${project.id}) ${states[project.state]}, ${project.visibility}: ${project.address}`;

const states: Readonly<Record<Project["state"], string>> = {
  not_deployed: "is not deployed",
  running: "is running",
  starting: "is starting",
  failed: "has failed",
  stopped: "is stopped",
  no_service: "has no service behind its address",
};

const deployedText = (deployment: Deployment | null): string =>
  deployment === null
    ? "not deployed"
    : `deployed ${shortCommit(deployment.commit)} at ${deployment.deployed_at}`;

const shortCommit = (commit: string): string => commit.slice(0, 12);
