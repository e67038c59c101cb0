/** A word as a shell takes it for nothing but itself: names that a computer chose stand in commands that people copy. */
export const inShell = (word: string): string =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
