/**
 * Asks the sections one after the other. One that throws or takes too long does not keep the others from being told: its place in the report
 * says what went wrong.
 */
export const compose = async ({ id, now, since, folder, title, sections, sectionMs }) => {
  const told = [];
  for (const section of sections)
    told.push({ title: section.title, ...(await ask(section, { now, since, folder }, sectionMs)) });
  return { id, title, madeAt: now.toISOString(), since: since.toISOString(), sections: told };
};

const ask = async (section, context, sectionMs) => {
  const late = new AbortController();
  const timer = setTimeout(
    () => late.abort(new Error(`It took longer than ${sectionMs / 1000} s.`)),
    sectionMs,
  );
  try {
    const patience = new Promise((_resolve, reject) => {
      late.signal.addEventListener("abort", () => reject(late.signal.reason), { once: true });
    });
    return checked(await Promise.race([section.look({ ...context, signal: late.signal }), patience]));
  } catch (error) {
    return { failed: true, summary: error instanceof Error ? error.message : String(error) };
  } finally {
    clearTimeout(timer);
  }
};

/** `{ summary, attention?, items?, table? }`: anything else is a slip in a section, told where it is noticed. */
const checked = ({ summary, attention = false, items = [], table }) => {
  if (typeof summary !== "string") throw new Error("A section answers at least a `summary`.");
  if (table && table.rows.some((row) => row.length !== table.head.length))
    throw new Error("The rows of a section's table have other lengths than its head.");
  return { summary, attention, items, ...(table && { table }) };
};
