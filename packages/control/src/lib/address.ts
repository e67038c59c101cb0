/**
 * The origin of a project, like `http://shop.localhost:7301`; with `port`, of another port than its web service's. `projectsAddress` is the
 * origin without the slug.
 */
export const projectAddress = (projectsAddress: URL, slug: string, port?: number): string => {
  const name = port === undefined ? slug : `${port}--${slug}`;
  return `${projectsAddress.protocol}//${name}.${projectsAddress.host}`;
};
