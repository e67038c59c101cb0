import process from "node:process";
import { root } from "../node24.mjs";
import { createProgress } from "../setup/progress.ts";
import { readRecipe } from "../setup/image/recipe.ts";
import { ensureAgent, needsCompiler } from "../setup/steps/agent.ts";
import { ensureArchive } from "../setup/steps/image.ts";
import { ensurePackages, installMissing } from "../setup/steps/packages.ts";
import { ensureUsers } from "../setup/steps/users.ts";

/** Visitors' browser, and certificates to serve them with. */
const ofTestsAlone = ["chromium", "openssl"];

/**
 * What the tests need of the host and `npm ci` does not bring: Debian packages, the programs' users, the built agent and base image. The
 * tests run with little of the environment, so whatever needs this machine's way to its mirrors is fetched here. On a host where
 * `npm run up` has run it only looks. Without root it does nothing; tests that need root say so.
 */
export const prepareHost = async (): Promise<void> => {
  if (process.getuid?.() !== 0) return;
  const progress = createProgress(process.stdout, () => performance.now());
  const agentCompiler = await needsCompiler(root);
  await progress.step("packages", (note) => ensurePackages({ database: true, agentCompiler }, note));
  await progress.step("tests' packages", async (note) => {
    const installed = await installMissing(ofTestsAlone, note);
    const outcome = installed.length === 0 ? "skipped" : "done";
    return { outcome, detail: ofTestsAlone.join(", "), value: undefined };
  });
  await progress.step("users", () => ensureUsers());
  await progress.step("agent", (note) => ensureAgent(root, note));
  await progress.step("base image", async (note) => {
    const recipe = await readRecipe(root, "base");
    let made = false;
    await ensureArchive(recipe, root, (text) => {
      made = true;
      note(text);
    });
    const detail = `${recipe.name} ${recipe.digest.slice(0, 12)}`;
    return { outcome: made ? "done" : "skipped", detail, value: undefined };
  });
};
