import assert from "node:assert/strict";
import { validateHeaderValue } from "node:http";
import { test } from "node:test";
import { attachment, entityTag } from "./headers.ts";

test("whatever a computer calls its files and versions, a header can hold what is made of it", () => {
  for (const name of ["a.txt", "ü 日\"\\%'()*", "a\r\nx: y", "\ud83d", "\0\u001b[2J"]) {
    const header = attachment(name);
    validateHeaderValue("content-disposition", header);
    assert.doesNotMatch(header, /[\r\n]/);
  }
  assert.equal(entityTag("1764503-12"), '"1764503-12"');
  for (const version of ["", "a b", 'a"b', "a\r\nx: y", "日", "\ud83d"])
    assert.equal(entityTag(version), undefined);
});
