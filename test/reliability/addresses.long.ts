import { test } from "node:test";
import { usePrivateInstance } from "../support/instance.ts";
import { playVisits } from "./addresses/play.ts";

const instance = await usePrivateInstance("visitslong");
const assistant = await instance.assistant();

test("a million requests to a hundred projects, while gateway and apps are killed: nobody gets another's bytes", (context) =>
  playVisits(context, { instance, assistant }, { projects: 100, requests: 1_000_000, strikes: 60 }));
