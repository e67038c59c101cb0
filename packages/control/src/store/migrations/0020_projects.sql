-- Projects: a folder on a computer, what it runs, and an address for life.

-- Numbers of what a gateway has to know, in the order in which they become visible: see `touchRoute` in store/projects.ts.
create sequence route_revisions;

create table projects (
  id text primary key,
  account_id text not null references accounts,
  computer_id text not null references computers,
  principal_id text not null,
  -- The operation that creates it: while that is under way nobody else touches the row.
  operation_id text not null,
  name text not null,
  slug text not null,
  description text not null,
  template text not null,
  -- What it should run, and how often that was changed; what it does run is `deployed_definition`.
  definition jsonb not null,
  definition_version bigint not null default 1,
  deployed_definition jsonb,
  -- The web service's port in the computer, as deployed.
  web_port integer,
  -- Rules of what is open to everyone; null while it is private.
  published jsonb,
  state text not null check (state in ('creating', 'living', 'destroyed')),
  -- 0: no gateway was ever told of it.
  route_revision bigint not null default 0,
  version bigint not null default 1,
  created_at_ms bigint not null,
  updated_at_ms bigint not null,
  destroyed_at_ms bigint
);
create unique index projects_name on projects (computer_id, name) where state <> 'destroyed';
-- An address leads to one project at most, whatever became of the rows of `slugs`.
create unique index projects_slug on projects (slug) where state <> 'destroyed';
create index projects_account on projects (account_id, id desc);
create index projects_route on projects (route_revision) where route_revision > 0;
create index projects_creating on projects (id) where state = 'creating';

-- Never deleted once its project lived: a slug keeps meaning its principal's, also when the project is destroyed.
create table slugs (
  slug text primary key,
  -- The last one that had it; the slug is taken before the project is written.
  project_id text not null references projects deferrable initially deferred,
  principal_id text not null,
  account_id text not null references accounts
);
create index slugs_project on slugs (project_id);

create table deployments (
  id text primary key,
  project_id text not null references projects,
  operation_id text not null,
  -- As git in the computer reported it, which may rewrite its repository at any time.
  commit text not null,
  message text not null,
  principal_id text not null,
  definition_version bigint not null,
  at_ms bigint not null
);
create index deployments_project on deployments (project_id, id desc);
create index deployments_operation on deployments (operation_id);

alter table services add column project_id text references projects;
create index services_project on services (project_id) where project_id is not null;
