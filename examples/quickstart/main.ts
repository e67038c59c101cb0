/**
 * The main job, once, by an assistant that has nothing but the official MCP client and a key: get a computer, build something on it, hand
 * back an address, close the chat, come back and find all of it. Each step checks what it got; the first that is wrong ends the program with
 * status 1. The last line is the project's address: it stays, private until an owner publishes it.
 *
 * usage: main.ts --url http://127.0.0.1:7300/mcp --key-file FILE [--remove]
 */
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { visit } from "./address.ts";
import { Assistant } from "./assistant.ts";

const heading = "An assistant made this";

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      url: { type: "string" },
      "key-file": { type: "string" },
      remove: { type: "boolean", default: false },
    },
  });
  if (!values.url || !values["key-file"])
    throw new Error("usage: main.ts --url http://…/mcp --key-file FILE [--remove]");
  const key = (await readFile(values["key-file"], "utf8")).trim();
  const name = `quickstart-${randomBytes(3).toString("hex")}`;

  const first = await Assistant.connect(values.url, key);
  await first.step("the tools are there", async () => {
    const tools = await first.tools();
    for (const tool of ["computer_create", "exec", "file_edit", "project_create", "project_deploy"])
      check(tools.includes(tool), `no tool ${tool}`);
    return `${tools.length} tools`;
  });
  await first.step(`a computer of its own: ${name}`, async () => {
    const asked = { name, description: "Made by the quickstart", idempotency_key: name };
    const computer = await first.call("computer_create", asked);
    check(computer["state"] === "awake", `its state is ${String(computer["state"])}`);
    const again = await first.call("computer_create", asked);
    check(again["id"] === computer["id"], "the same idempotency key made a second computer");
    return String(computer["id"]);
  });
  await first.step("a command with its true exit code", async () => {
    const { exitCode, stdout } = await first.exec(name, "id -u; exit 3");
    check(exitCode === 3 && stdout === "0\n", `exit code ${exitCode}, output ${JSON.stringify(stdout)}`);
    return "exit code 3, as asked";
  });
  const slug = await first.step("a project from a template", async () => {
    const project = await first.call("project_create", {
      computer: name,
      name: "hello",
      description: "Made by the quickstart",
      template: "web-app",
      idempotency_key: name,
    });
    checkProject(project);
    return String(project["slug"]);
  });
  const project = await first.call("project_get", { project: slug });
  const [address, folder] = [String(project["address"]), String(project["folder"])];
  await first.step("its page, changed", async () => {
    const path = `${folder}/pages/home.mjs`;
    const { content } = await first.call("file_read", { computer: name, path });
    const [old] = /<h1>[^<]*<\/h1>/.exec(String(content)) ?? [];
    check(old !== undefined, `${path} has no heading`);
    await first.call("file_edit", { computer: name, path, edits: [{ old, new: `<h1>${heading}</h1>` }] });
    return "pages/home.mjs";
  });
  await first.step("deployed", async () => {
    const deployed = await first.call("project_deploy", { project: slug, message: "Change the heading" });
    checkProject(deployed["project"] as Record<string, unknown>);
    return `commit ${String((deployed["deployment"] as Record<string, unknown>)["commit"]).slice(0, 10)}`;
  });
  await first.step("its address answers the assistant, and nobody else", async () => {
    await checkPage(address, key);
    const { status } = await visit(address, "/");
    check(status === 404, `without a right it answered ${status}`);
    return "200 with the key, 404 without";
  });
  await first.close();

  const second = await Assistant.connect(values.url, key);
  await second.step("the chat is closed; another one finds the project", async () => {
    const { projects } = await second.call("project_list", {});
    const found = (projects as Record<string, unknown>[]).find((project) => project["slug"] === slug);
    check(found?.["address"] === address, `it is at ${String(found?.["address"])}`);
    const { commits } = await second.call("project_history", { project: slug });
    const messages = (commits as Record<string, unknown>[]).map(({ message }) => message);
    check(messages[0] === "Change the heading", `its history is ${messages.join(", ")}`);
    return `${messages.length} commits`;
  });
  await second.step("stopped, and there again when somebody with a right comes", async () => {
    await second.call("computer_stop", { computer: name });
    await checkPage(address, key);
    return "the same page";
  });
  if (values.remove)
    await second.step("destroyed, when it is no longer needed", () =>
      second.call("computer_destroy", { computer: name }).then(() => name),
    );
  await second.close();
  process.stdout.write(`The quickstart succeeded.\n${values.remove ? "" : `address: ${address}\n`}`);
};

const checkProject = (project: Readonly<Record<string, unknown>>): void => {
  check(project["state"] === "running", `its state is ${String(project["state"])}`);
  check(project["visibility"] === "private", `it is ${String(project["visibility"])}`);
};

/** The page with what was changed on it, shown to whoever has the key. */
const checkPage = async (address: string, key: string): Promise<void> => {
  const { status, body } = await visit(address, "/", { key });
  check(status === 200, `it answered ${status}`);
  check(body.includes(`<h1>${heading}</h1>`), "the page is not the one that was deployed");
};

function check(condition: boolean, otherwise: string): asserts condition {
  if (!condition) throw new Error(otherwise);
}

await main().catch((error: unknown) => {
  process.stderr.write(`The quickstart failed: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
