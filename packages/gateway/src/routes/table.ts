import type { Route } from "@holdfast/contract";

/** Which project is behind a slug, as control last said it. */
export interface RouteTable {
  /** False until control was heard once. */
  readonly filled: boolean;
  find(slug: string): Route | undefined;
  /** Takes changes in, and tells of each that replaced or removed something, once all are in. */
  apply(routes: readonly Route[]): void;
  /** Takes what there is now for all there is. */
  replace(routes: readonly Route[]): void;
}

/** `onChange` hears of each project whose route is another than before; `now` is undefined when it is gone. */
export const createRouteTable = (
  onChange: (projectId: string, now: Route | undefined) => void,
): RouteTable => {
  const bySlug = new Map<string, Route>();
  const slugOf = new Map<string, string>();
  let filled = false;

  const put = (route: Route): void => {
    const before = slugOf.get(route.project_id);
    if (before !== undefined && before !== route.slug) bySlug.delete(before);
    if (route.removed) {
      slugOf.delete(route.project_id);
      bySlug.delete(route.slug);
    } else {
      slugOf.set(route.project_id, route.slug);
      bySlug.set(route.slug, route);
    }
  };
  const tell = (projectId: string): void => {
    const slug = slugOf.get(projectId);
    onChange(projectId, slug === undefined ? undefined : bySlug.get(slug));
  };

  return {
    get filled() {
      return filled;
    },
    find: (slug) => bySlug.get(slug),
    apply: (routes) => {
      for (const route of routes) put(route);
      filled = true;
      for (const { project_id } of routes) tell(project_id);
    },
    replace: (routes) => {
      const before = [...slugOf.keys()];
      bySlug.clear();
      slugOf.clear();
      for (const route of routes) put(route);
      filled = true;
      for (const projectId of new Set([...before, ...slugOf.keys()])) tell(projectId);
    },
  };
};
