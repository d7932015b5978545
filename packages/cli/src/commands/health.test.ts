import assert from "node:assert/strict";
import test from "node:test";
import { refusal, startService } from "../testing/fake-server.ts";
import { run } from "../testing/terminal.ts";

const HEALTH = {
	version: "1",
	commit: "c",
	built: "b",
	mode: "standalone",
	checks: { database: "healthy", encryption: "healthy" },
};

const SICK = {
	...HEALTH,
	status: "unhealthy",
	checks: { database: "unhealthy", encryption: "healthy" },
	store: { type: "postgresql", status: "away", message: "it is old", hint: "renew it" },
};

for (const command of ["health", "status"]) {
	test(`svc ${command} needs no login and ends with 5 when the server is not well`, async () => {
		await using server = await startService(({ headers }) =>
			headers.authorization === undefined
				? { body: { ...HEALTH, status: "healthy" } }
				: refusal(400, "x", "a token was sent"),
		);
		const well = await run([command], { env: server.env });
		assert.deepEqual([well.code, well.stderr], [0, ""]);
		assert.match(well.stdout, /^status +healthy$/m);
		await using other = await startService(() => ({ status: 503, body: SICK }));
		const shown = await run([command], { env: other.env });
		assert.equal(shown.code, 5);
		assert.match(
			shown.stdout,
			/^status +unhealthy\n.*^database +unhealthy\nencryption +healthy\ntrouble +it is old: renew it$/ms,
		);
		const { code, stdout } = await run([command, "--json"], { env: other.env });
		assert.equal(code, 5);
		assert.deepEqual(JSON.parse(stdout), SICK);
	});
}
