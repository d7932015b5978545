import { skipWithoutPostgres, startPostgres } from "../peers/postgres.ts";

/** State in which docs/postgres.md begins: a superuser of a PostgreSQL without a database of svc. */
export const POSTGRES = {
	begins: "signed in",
	skip: async () => skipWithoutPostgres,
	before: ["printf %s postgres://staging | svc secret set DB_URL --realm shop --env staging"],
	answers: { "SVC_DATABASE_URL=postgres://svc_owner@db.example.com:5432/svc svc restore": ["y"], "svc restore": ["y"] },
	async surround() {
		const { host, port, user, stop } = await startPostgres({
			// The page ends with the doctor, who fails a database that loses what it has answered.
			settings: ["fsync=on", "full_page_writes=on", "synchronous_commit=on"],
		});
		return {
			addresses: { "db.example.com:5432": `${host}:${port}` },
			env: { PGHOST: host, PGPORT: String(port), PGUSER: user },
			[Symbol.asyncDispose]: stop,
		};
	},
} as const;
