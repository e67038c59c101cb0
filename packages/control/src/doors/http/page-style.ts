/** Of the pages for people who come with a browser. */
export const pageStyle = `
:root { color-scheme: light dark; --ground: light-dark(#f6f5f2, #16171a); --sheet: light-dark(#fff, #1f2125);
  --ink: light-dark(#1c1d20, #ececea); --soft: light-dark(#5c5e66, #a5a7ad); --line: light-dark(#e2e0da, #34373d); }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 38rem; margin: 0 auto; padding: clamp(2rem, 8vh, 6rem) 1.25rem 4rem; }
h1 { font-size: 1.75rem; line-height: 1.25; margin: 0 0 .75rem; }
.lead { color: var(--soft); margin: 0 0 2rem; }
.lead strong { color: var(--ink); overflow-wrap: anywhere; }
section { background: var(--sheet); border: 1px solid var(--line); border-radius: .75rem; padding: 1.1rem 1.25rem; margin: 0 0 1rem; }
h2 { font-size: 1.05rem; margin: 0 0 .35rem; }
section p { margin: 0; color: var(--soft); }
pre { margin: .8rem 0; padding: .7rem .9rem; border-radius: .5rem; background: var(--ground); border: 1px solid var(--line); overflow-x: auto; }
a { color: inherit; }
code { font: .92em ui-monospace, "DejaVu Sans Mono", monospace; color: var(--ink); }
`;
