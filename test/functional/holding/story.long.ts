import { test } from "node:test";
import { hangMs, until } from "../../support/until.ts";
import { useAssistant } from "../../support/use.ts";
import { visit } from "../../support/visit.ts";
import { playStory } from "./story.ts";

const { instance, assistant } = await useAssistant();

test("a quarter of an hour in real time: each slot one run, one page view wakes it, nothing is lost", async (context) => {
  await playStory(
    context,
    {
      assistant,
      publish: async (project) => (await instance.owner()).projects.publish({ project }),
      view: async ({ slug }) => {
        let answer = await visit(instance, slug);
        await until("the page is there", async () => (answer = await visit(instance, slug)).status === 200, {
          withinMs: hangMs,
          detail: () => `${answer.status} ${answer.body}`,
        });
        return answer.body;
      },
      now: Date.now,
      pass: () => new Promise((resolve) => setTimeout(resolve, 500)),
    },
    15,
  );
});
