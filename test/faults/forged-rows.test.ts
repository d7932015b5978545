import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { runLocal } from "../backup/local.ts";
import { ok, refused } from "../harness/expect.ts";
import { type ForgedRows, makeForgedRows, testForgery } from "./forged-rows-world.ts";
import { plainApi } from "./plain-api.ts";
import { runServer } from "./process.ts";

let world: ForgedRows;
before(async () => {
	world = await makeForgedRows();
});
after(() => world.close());

test("rows that the server wrote match the log", async () => {
	const { forgedCopy, verified } = world;
	const looked = await runLocal(
		forgedCopy(() => undefined),
		["adopt", "--look", "--json"],
	);
	assert.deepEqual([looked.code, JSON.parse(looked.stdout).status], [0, "sound"]);
	const { status, differences } = ok(await verified(forgedCopy(() => undefined)));
	assert.deepEqual([status, differences], ["intact", []]);
});

// forged-rows.long.test.ts tries the others.
for (const what of [
	"an account that was invented",
	"a role that became a higher one",
	"a role that was taken away",
	"a revoked token that was put back",
])
	testForgery(what, () => world);

/** Rows that grant something in a realm which nobody made. */
const INVENTED = `
INSERT INTO realm (id, slug, name, description, user_id, created_at) VALUES ('attic', 'attic', '', '', 'invented', '');
INSERT INTO machine (id, realm_id, name, role, scopes, environment, description, created_by, created_at) VALUES
  ('m1', 'attic', 'first', 'viewer', 'read', NULL, '', 'invented', ''), ('m2', 'attic', 'second', 'admin', 'read', 'prod', '', 'invented', '');
INSERT INTO machine_token (id, machine_id, name, prefix, digest, created_by, created_at, expires_at)
  VALUES ('t', 'm2', 'nightly', 'svc_', zeroblob(32), 'invented', '', '2030-01-01');
INSERT INTO trust (id, machine_id, name, type, issuer, audience, claims, max_ttl_ms, single_use, created_by, created_at)
  VALUES ('t', 'm2', 'ci', 'oidc', 'https://id.example.com', 'svc', '{}', 1, 1, 'invented', '');
INSERT INTO invitation (id, email, digest, created_by, created_at, expires_at)
  VALUES ('i', 'mallory@example.test', zeroblob(32), 'invented', '', '2030-01-01');`;

test("adopting shows by name what it would believe, after what does not fit, and no name moves the terminal's cursor", async () => {
	const { forgedCopy, admin, member, slug, standing } = world;
	const hostile = "eve@example.test\u001b]0;pwned\u0007\u202e";
	const data = forgedCopy((database) => {
		database
			.prepare("INSERT INTO account (id, email, name, instance_admin, created_at) VALUES ('invented', ?, 'Eve', 1, '')")
			.run(hostile);
		database.prepare("UPDATE api_token SET name = ? WHERE id = ?").run("x".repeat(1000), standing.id);
		database.exec(INVENTED);
	});
	const { code, stdout, stderr } = await runLocal(data, ["adopt", "--again", "--yes"]);
	assert.equal(code, 0, stderr);
	assert.doesNotMatch((stdout + stderr).replaceAll("\n", ""), /[\p{Cc}\u202e]/u);
	const lines = stderr.trimEnd().split("\n");
	const from = lines.findIndex((line) => line.startsWith("would be believed: 3 accounts, "));
	assert.ok(lines.slice(0, from).every((line) => line.startsWith("not as ")) && from > 0, stderr);
	for (const line of [
		`instance admin ${admin.email}`,
		"instance admin eve@example.test\\u001b]0;pwned\\u0007\\u202e (Eve)",
		`realm ${slug} of ${admin.email}`,
		`role viewer of ${member.email} in realm ${slug}`,
		`API token ${"x".repeat(200)} of ${member.email}: scopes read, realm ${slug}, all environments, without an end`,
		"realm attic of eve@example.test",
		"machine attic/first of eve@example.test",
		"machine attic/second of eve@example.test\\u001b]0;pwned\\u0007\\u202e: admin, scopes read, environment prod",
		"token nightly of machine attic/second, made by eve@example.test",
		"trust ci of machine attic/second, made by eve@example.test",
		"invitation of mallory@example.test by eve@example.test",
	])
		assert.ok(
			lines.slice(from).some((one) => one.startsWith(line)),
			`${line}\n${stderr}`,
		);
});

const OF_SECOND = "(SELECT id FROM secret WHERE key = 'SECOND')";

/** Changes that would take a secret from an operator's cluster, or give it an older value. */
const LOSSES: Record<string, string> = {
	"a secret that was deleted": "DELETE FROM secret WHERE key = 'SECOND'",
	"a secret marked as deleted": "UPDATE secret SET deleted_at = '2030-01-01T00:00:00.000Z' WHERE key = 'SECOND'",
	"a secret in another environment": "UPDATE secret SET environment = 'prod' WHERE key = 'SECOND'",
	"a secret with another name": "UPDATE secret SET key = 'THIRD' WHERE key = 'SECOND'",
	"a secret whose current version is an older one": "UPDATE secret SET version = 1 WHERE key = 'SECOND'",
	"a current version that was deleted": `DELETE FROM secret_version WHERE version = 2 AND secret_id = ${OF_SECOND}`,
	"a current version that has expired": `UPDATE secret_version SET expires_at = '2020-01-01T00:00:00.000Z' WHERE secret_id = ${OF_SECOND}`,
};

for (const [what, sql] of Object.entries(LOSSES)) {
	test(`after ${what} by another program's hand an operator gets 503, never 404, an older value or a shorter map`, async () => {
		const { forgedCopy, admin, slug } = world;
		const data = forgedCopy((database) => database.exec(sql));
		const run = await runServer({ data });
		try {
			for (const path of [`/eso/${slug}?env=dev`, `/eso/${slug}/SECOND?env=dev`])
				refused(await plainApi(run.url).get(path, { token: admin.token }), 503, "unhealthy");
			assert.equal((await plainApi(run.url).get("/health")).status, 503);
		} finally {
			await run.kill("SIGKILL");
		}
	});
}

test("an operator gets every secret of a database that no other program wrote, from the first request on", async () => {
	const { forgedCopy, admin, slug } = world;
	const run = await runServer({ data: forgedCopy(() => undefined) });
	try {
		const { data } = ok(await plainApi(run.url).get<{ data: object }>(`/eso/${slug}?env=dev`, { token: admin.token }));
		assert.deepEqual(new Set(Object.keys(data)), new Set(["FIRST", "SECOND"]));
	} finally {
		await run.kill("SIGKILL");
	}
});
