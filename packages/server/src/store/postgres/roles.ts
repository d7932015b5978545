import { LOG_TABLES } from "../row-kinds.ts";
import { SCHEMA, type Sql } from "./connection.ts";

/** Names of the roles: one owns the tables and makes migrations, one is the server's. */
export interface RoleNames {
	owner: string;
	server: string;
}

/** Tables whose rows nobody changes or removes: the log, what it refers to, and the tips. */
const INSERTED = [...LOG_TABLES, "tip"];

/** Table that only migrations write. */
const HISTORY = "migration";

const ROWS = "SELECT, INSERT, UPDATE, DELETE";

const NARROWED = `SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END AS role
	FROM pg_class CROSS JOIN LATERAL aclexplode(relacl)
	WHERE relnamespace = '${SCHEMA}'::regnamespace AND relkind = 'r' AND grantee <> relowner`;

/** Takes from every role but the owner what no server needs: the default privileges of new tables give it on those of the log, too. */
export async function narrowRights(sql: Sql): Promise<void> {
	const list = (tables: readonly string[]) => tables.map((table) => `${SCHEMA}.${table}`).join(", ");
	for (const { role } of await sql.rows<{ role: string }>(NARROWED)) {
		await sql.run(`REVOKE UPDATE, DELETE, TRUNCATE ON ${list([...INSERTED, HISTORY])} FROM ${role}`);
		await sql.run(`REVOKE INSERT ON ${list([HISTORY])} FROM ${role}`);
	}
}

/** Roles that the script takes: their names need no escape in it. */
export const ROLE_NAME = /^[a-z_][a-z0-9_]{0,62}$/;

const roleOf = (role: string) => `
DO $$ BEGIN
  IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}') THEN CREATE ROLE "${role}" LOGIN; END IF;
  IF EXISTS (SELECT FROM pg_roles WHERE rolname = '${role}' AND (rolsuper OR rolcreatedb OR rolcreaterole OR rolreplication OR rolbypassrls))
  THEN ALTER ROLE "${role}" NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS; END IF;
END $$;`;

/** Writes the SQL that makes the roles, and gives them what they need in the current database and no more. Run again, it changes nothing. */
export function rolesScript({ owner, server }: RoleNames): string {
	const [own, serve] = [`"${owner}"`, `"${server}"`];
	const each = [...INSERTED, HISTORY].map((table) => `'${table}'`).join(", ");
	return `-- Roles of svc: ${own} owns the tables and makes migrations, ${serve} is for the server. Run it in svc's database as a superuser; it sets no passwords.
BEGIN;
${[owner, server].map(roleOf).join("\n")}

DO $$ BEGIN
  IF (SELECT pg_get_userbyid(datdba) = '${server}' FROM pg_database WHERE datname = current_database())
  THEN EXECUTE format('ALTER DATABASE %I OWNER TO ${own}', current_database()); END IF;
  EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC, ${serve}', current_database());
  IF to_regnamespace('public') IS NOT NULL THEN REVOKE CREATE ON SCHEMA public FROM PUBLIC; END IF;
  -- Temporary tables: each start makes the schema once more, rolled back, and compares the real one with it.
  EXECUTE format('GRANT CONNECT, TEMPORARY ON DATABASE %I TO ${own}, ${serve}', current_database());
END $$;

CREATE SCHEMA IF NOT EXISTS ${SCHEMA};
ALTER SCHEMA ${SCHEMA} OWNER TO ${own};
REVOKE ALL ON SCHEMA ${SCHEMA} FROM PUBLIC, ${serve};
GRANT USAGE ON SCHEMA ${SCHEMA} TO ${serve};

-- What is there already. A table takes its own sequences with it.
DO $$ DECLARE statement text; BEGIN
  FOR statement IN
    SELECT format('ALTER TABLE %s OWNER TO ${own}', c.oid::regclass) FROM pg_class c
      WHERE relnamespace = '${SCHEMA}'::regnamespace AND (relkind = 'r' OR relkind = 'S' AND NOT EXISTS (
        SELECT FROM pg_depend WHERE classid = 'pg_class'::regclass AND objid = c.oid AND deptype IN ('a', 'i')))
    UNION ALL
    SELECT format('ALTER FUNCTION %s OWNER TO ${own}', oid::regprocedure) FROM pg_proc WHERE pronamespace = '${SCHEMA}'::regnamespace
  LOOP EXECUTE statement; END LOOP;
END $$;
REVOKE ALL ON ALL TABLES IN SCHEMA ${SCHEMA} FROM PUBLIC, ${serve};
GRANT ${ROWS} ON ALL TABLES IN SCHEMA ${SCHEMA} TO ${serve};
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${SCHEMA} TO ${serve};

-- What migrations will add: they take back what the log's tables must not have.
ALTER DEFAULT PRIVILEGES FOR ROLE ${own} IN SCHEMA ${SCHEMA} GRANT ${ROWS} ON TABLES TO ${serve};
ALTER DEFAULT PRIVILEGES FOR ROLE ${own} IN SCHEMA ${SCHEMA} GRANT USAGE, SELECT ON SEQUENCES TO ${serve};

-- Rows of the log and tips are only added, and the history of migrations is only read.
DO $$ DECLARE kept regclass; BEGIN
  FOR kept IN SELECT oid FROM pg_class WHERE relnamespace = '${SCHEMA}'::regnamespace AND relname IN (${each}) LOOP
    EXECUTE format('REVOKE UPDATE, DELETE ON %s FROM ${serve}', kept);
  END LOOP;
  IF to_regclass('${SCHEMA}.${HISTORY}') IS NOT NULL THEN REVOKE INSERT ON ${SCHEMA}.${HISTORY} FROM ${serve}; END IF;
END $$;

COMMIT;
`;
}
