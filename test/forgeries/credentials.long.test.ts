import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { test } from "node:test";
import { columnsOf, type RowTable } from "../../packages/server/src/store/row-kinds.ts";
import type { Answer, Api } from "../harness/client.ts";
import { eventually } from "../harness/engine-world.ts";
import type { Redis } from "../peers/redis.ts";
import { WITH_AN_AIM } from "./aims.ts";
import { ofOtherTable } from "./other-tables.ts";
import { OF_CONTENT, OVER_NEWER_CONTENT } from "./rollbacks.ts";
import { changed, ofRows, swapped } from "./rows.ts";
import { options, useForgedWorld } from "./shared.ts";
import { type Forgery, failures, forge, withServerOver } from "./trial.ts";

/** The rules of the credential's user in Redis, as the server made it. */
let rules: string[];
const world = useForgedWorld(async ({ redis, lease }) => {
	rules = await rulesOf(redis, lease.username);
});

/** Reads the rules with which Redis makes the same user again. */
async function rulesOf(redis: Redis, username: string): Promise<string[]> {
	const users = (await redis.admin("ACL", "LIST")) as string[];
	const line = users.find((user) => user.startsWith(`user ${username} `)) ?? assert.fail("no such user");
	return line.split(" ").slice(2);
}

/** Tables of leases, and of what their revocation needs. */
const TABLES: readonly RowTable[] = ["lease", "meta", "engine_config", "keyring"];

const ofTable = (table: RowTable): Forgery[] => [
	...ofRows(table),
	...columnsOf(table).flatMap((column) => [changed(table, column), swapped(table, column)]),
];

/** Finds what becomes of a credential: by its owner's wish, where the forgery goes unnoticed. @throws Error when it lives on, and nothing says so */
async function endOf(forgery: Forgery): Promise<"refused" | "revoked" | "reported"> {
	const { redis, lease } = world();
	await redis.admin("ACL", "SETUSER", lease.username, "reset", ...rules);
	const data = forge(world(), [forgery]);
	try {
		return await withServerOver(data, endOn);
	} finally {
		rmSync(data, { recursive: true });
	}
}

async function endOn(api: Api): Promise<"revoked" | "reported"> {
	const { people, slug, redis, lease } = world();
	const { token } = people.root;
	const { status, body } = await api.get<{ status: string; altered: string[] }>("/audit/verify", { token });
	// Health says nothing of what is sealed: verifying opens it, and so does the doctor.
	const isSealedAlone =
		status === 200 && body.status === "rows_altered" && body.altered.every((what) => what.endsWith(" not open"));
	if (!isSealedAlone && (status !== 200 || body.status !== "intact")) {
		await eventually("health reports it", async () => isUnhealthy(await api.get("/health")));
		return "reported";
	}
	await api.delete(`/realms/${slug}/leases/${lease.id}`, { token: people.owner.token });
	let end: "revoked" | "reported" | undefined;
	await eventually("the credential is gone, or the doctor reports it", async () => {
		if (!(await redis.users()).includes(lease.username)) end = "revoked";
		else if ((await failures(api, token)).length > 0) end = "reported";
		return end !== undefined;
	});
	return end ?? assert.fail();
}

const isUnhealthy = ({ status, body }: Answer) =>
	status === 503 && (body as { checks: { database: string } }).checks.database === "unhealthy";

async function expectEnd(forgeries: readonly Forgery[]): Promise<void> {
	const problems: string[] = [];
	for (const forgery of forgeries)
		await endOf(forgery).catch((error: Error) => problems.push(`${forgery.name}: ${error.message.slice(0, 500)}`));
	assert.deepEqual(problems, []);
}

test("without a forgery the credential is revoked when its owner ends it", options, async () => {
	assert.equal(await endOf({ name: "nothing" }), "revoked");
});

for (const table of TABLES)
	test(`after each forgery of ${table}, the server revokes the credential or reports it`, options, () =>
		expectEnd(ofTable(table)),
	);

test(
	"after a targeted forgery, forged counts or a partial rollback, the server revokes the credential or reports it",
	options,
	() => expectEnd([...WITH_AN_AIM, ...ofOtherTable(world(), "lease_count"), ...OVER_NEWER_CONTENT, ...OF_CONTENT]),
);
