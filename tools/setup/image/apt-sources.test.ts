import assert from "node:assert/strict";
import { test } from "node:test";
import { parseDeb822, parseOneLine, sourcesForSuite } from "./apt-sources.ts";

const deb822 = `Types: deb
# a comment
URIs: http://mirror.example/debian
Suites: trixie trixie-updates
Components: main
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg

Types: deb
URIs: http://mirror.example/debian-security
Suites: trixie-security
Components: main

Enabled: no
Types: deb
URIs: http://other.example
Suites: trixie
`;

test("both forms of apt's sources are read, what is off is left out", () => {
  assert.deepEqual(
    parseDeb822(deb822).map(({ suite }) => suite),
    ["trixie", "trixie-updates", "trixie-security"],
  );
  assert.deepEqual(
    parseOneLine(
      "# x\ndeb [arch=amd64 signed-by=/k] http://m/d bookworm main\ndeb-src http://m/d bookworm main\n",
    ),
    [{ uri: "http://m/d", suite: "bookworm" }],
  );
});

test("the image's suite comes from the mirrors of the host, whatever release the host is", () => {
  assert.equal(
    sourcesForSuite(parseDeb822(deb822), "trixie", "bookworm", ["main"]),
    "deb http://mirror.example/debian bookworm main\n" +
      "deb http://mirror.example/debian bookworm-updates main\n" +
      "deb http://mirror.example/debian-security bookworm-security main\n",
  );
  assert.throws(() => sourcesForSuite([], "bookworm", "bookworm", ["main"]), /names no Debian archive/);
});
