import type { SchemaObjects } from "../schema-difference.ts";
import { SCHEMA, SEARCH_PATH, type Sql } from "./connection.ts";

/**
 * Lists the objects of a schema, and all that changes what a statement over its tables does: triggers, rules, policies, defaults, tables that inherit.
 * `pg_depend` has every other object of the schema, such as an operator, which would take the place of PostgreSQL's own. Who may read, and what is
 * replicated, is the administrator's.
 */
const OBJECTS = `
WITH relation AS (SELECT * FROM pg_class WHERE relnamespace = $1::regnamespace)
SELECT 'relation ' || relname AS name, concat_ws(' ', relkind, CASE WHEN relnamespace = pg_my_temp_schema() THEN 'p' ELSE relpersistence END, relrowsecurity, relforcerowsecurity, relispartition) AS text
	FROM relation
UNION ALL SELECT 'column ' || relname || '.' || attname,
	concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, attcollation::regcollation, pg_get_expr(adbin, adrelid))
	FROM relation JOIN pg_attribute ON attrelid = relation.oid AND attnum > 0 AND NOT attisdropped AND relkind <> 'i'
	LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
UNION ALL SELECT 'constraint ' || relname || '.' || conname, concat_ws(' ', pg_get_constraintdef(c.oid), convalidated)
	FROM relation JOIN pg_constraint c ON conrelid = relation.oid
UNION ALL SELECT 'index ' || relname, concat_ws(' ', pg_get_indexdef(indexrelid), indisvalid, indisready, indislive)
	FROM relation JOIN pg_index ON indexrelid = relation.oid
UNION ALL SELECT 'trigger ' || relname || '.' || tgname, concat_ws(' ', pg_get_triggerdef(t.oid), tgenabled)
	FROM relation JOIN pg_trigger t ON tgrelid = relation.oid AND NOT tgisinternal
UNION ALL SELECT 'references of ' || relname, count(*) FILTER (WHERE tgenabled <> 'O')::text
	FROM relation JOIN pg_trigger ON tgrelid = relation.oid AND tgisinternal GROUP BY relname
UNION ALL SELECT 'rule ' || relname || '.' || rulename, concat_ws(' ', pg_get_ruledef(r.oid), ev_enabled)
	FROM relation JOIN pg_rewrite r ON ev_class = relation.oid
UNION ALL SELECT 'policy ' || relname || '.' || polname, '' FROM relation JOIN pg_policy ON polrelid = relation.oid
UNION ALL SELECT 'child ' || inhrelid::regclass || ' of ' || relname, '' FROM relation JOIN pg_inherits ON inhparent = relation.oid
UNION ALL SELECT 'sequence ' || relname, concat_ws(' ', seqtypid::regtype, seqstart, seqincrement, seqmin, seqmax, seqcycle)
	FROM relation JOIN pg_sequence ON seqrelid = relation.oid
UNION ALL SELECT 'function ' || oid::regprocedure, CASE WHEN prokind IN ('f', 'p') THEN pg_get_functiondef(oid) ELSE '' END
	FROM pg_proc WHERE pronamespace = $1::regnamespace
UNION ALL SELECT 'object ' || type || ' ' || identity, ''
	FROM pg_depend CROSS JOIN LATERAL pg_identify_object(classid, objid, objsubid)
	WHERE refclassid = 'pg_namespace'::regclass AND refobjid = $1::regnamespace
		AND classid NOT IN ('pg_default_acl'::regclass, 'pg_publication_namespace'::regclass)`;

/** Maximum length of a reported object name: another program chose it. */
const MAX_NAME = 200;

/** Describes the objects of a schema in the running transaction, whatever the schema is called. */
export async function schemaObjects(sql: Sql, schema: string): Promise<SchemaObjects> {
	// Nothing that another program defined has a part in the query, and every other name is written in full.
	await sql.run("SET LOCAL search_path = pg_catalog");
	const objects = await sql.rows<{ name: string; text: string }>(OBJECTS, [schema]);
	await sql.run(`SET LOCAL search_path = ${SEARCH_PATH}`);
	const withoutSchema = (text: string) =>
		(schema === SCHEMA ? text : text.replaceAll("pg_temp.", "")).replaceAll(`${schema}.`, "");
	return new Map(
		objects.map(({ name, text }) => [
			withoutSchema(name).slice(0, MAX_NAME),
			JSON.stringify([withoutSchema(name), withoutSchema(text)]),
		]),
	);
}
