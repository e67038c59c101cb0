import { html } from "./html.mjs";

/** The newest reports as an Atom feed (RFC 4287). `origin`: where this site is, as its reader knows it. */
export const feedOf = ({ title, reports, origin }) => html`<?xml version="1.0" encoding="utf-8"?>
<feed xmlns="http://www.w3.org/2005/Atom">
  <title>${title}</title>
  <id>${origin}/</id>
  <link href="${origin}/" />
  <link rel="self" href="${origin}/feed.xml" />
  <author><name>${title}</name></author>
  <updated>${reports[0]?.madeAt ?? "1970-01-01T00:00:00Z"}</updated>
  ${reports.map(
    ({ id, madeAt, sections }) => html`<entry>
    <title>${title}, ${id}</title>
    <id>${origin}/reports/${id}</id>
    <link href="${origin}/reports/${id}" />
    <updated>${madeAt}</updated>
    <summary>${sections.map((section) => `${section.title}: ${section.summary}`).join("\n")}</summary>
  </entry>`,
  )}
</feed>
`;
