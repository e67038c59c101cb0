import type { OperationOutput, PublicRule } from "@holdfast/contract";
import type { ColumnType, Generated } from "kysely";

export type ProjectDefinition = OperationOutput<"project.get">["definition"];

/** Written as JSON text: the driver would take an array for one of Postgres. */
type Rules = ColumnType<readonly PublicRule[] | null, string | null, string | null>;

/** Owned by `projects/` (and `visits/`, what is published). What the columns mean stands in `migrations/0020_projects.sql`. */
export interface ProjectTables {
  projects: {
    id: string;
    account_id: string;
    computer_id: string;
    principal_id: string;
    operation_id: string;
    name: string;
    slug: string;
    description: string;
    template: string;
    definition: ProjectDefinition;
    definition_version: Generated<number>;
    deployed_definition: ProjectDefinition | null;
    web_port: number | null;
    published: Rules;
    state: "creating" | "living" | "destroyed";
    route_revision: Generated<number>;
    version: Generated<number>;
    created_at_ms: number;
    updated_at_ms: number;
    destroyed_at_ms: number | null;
  };
  slugs: { slug: string; project_id: string; principal_id: string; account_id: string };
  deployments: {
    id: string;
    project_id: string;
    operation_id: string;
    commit: string;
    message: string;
    principal_id: string;
    definition_version: number;
    at_ms: number;
  };
}
