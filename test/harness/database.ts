import process from "node:process";

/** A database of one test server. */
export interface TestDatabase {
	/** Variables that lead the server to it. */
	readonly env: Readonly<Record<string, string>>;
	drop(): Promise<void>;
}

// biome-ignore lint/style/noProcessEnv: which store the test run is about
const url = process.env.SVC_TEST_DATABASE_URL;

let made = 0;

/** Creates a database on the PostgreSQL that SVC_TEST_DATABASE_URL names, such as `postgres://svc@127.0.0.1:5432/postgres`; undefined without it. */
export async function createTestDatabase(): Promise<TestDatabase | undefined> {
	if (url === undefined) return undefined;
	const { runSql } = await import("../../packages/server/src/store/postgres/testing.ts");
	const { hostname: host, port, username: user } = new URL(url);
	const server = { host, port: Number(port), user };
	const name = `svc_${process.pid}_${++made}`;
	await runSql(server, "postgres", `CREATE DATABASE ${name}`);
	return {
		env: { SVC_DATABASE_URL: Object.assign(new URL(url), { pathname: name }).href },
		drop: async () => void (await runSql(server, "postgres", `DROP DATABASE ${name} WITH (FORCE)`)),
	};
}
