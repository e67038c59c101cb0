/** What a browser has voted for, kept in its own cookie: nothing about visitors is stored here. Enough against voting twice by mistake. */
const name = "voted";
const idsMax = 200;
const seconds = 365 * 24 * 60 * 60;

export const votedIn = ({ headers }) => {
  const value = headers.cookie
    ?.split(";")
    .map((pair) => pair.trim())
    .find((pair) => pair.startsWith(`${name}=`));
  const ids = value?.slice(name.length + 1).split(".") ?? [];
  return new Set(ids.filter((id) => /^[0-9]{1,15}$/.test(id)).map(Number));
};

export const cookieWith = (voted, id) => {
  const ids = [...voted, id].slice(-idsMax);
  return `${name}=${ids.join(".")}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax`;
};
