import assert from "node:assert/strict";
import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { jwtOf, startMachineService } from "../../testing/machine.ts";
import { fakeIo, run, temporaryFolder } from "../../testing/terminal.ts";
import { findJwtSource } from "./jwt.ts";

const AUDIENCE = "https://svc.example.com";

/** Names of the sources, in the order in which they are looked for. */
const ORDER = ["named", "usual", "github", "variable"] as const;

test("the first of several sources of a JWT is used: SVC_JWT_FILE, the usual file, GitHub, SVC_ID_TOKEN", async () => {
	await using server = await startMachineService();
	await using folder = await temporaryFolder();
	const [named, usual] = [join(folder.path, "named"), join(folder.path, "usual")];
	await writeFile(named, jwtOf({ of: "named" }));
	await writeFile(usual, jwtOf({ of: "usual" }));
	const given = {
		named: { SVC_JWT_FILE: named },
		usual: {},
		github: server.github,
		variable: { SVC_ID_TOKEN: jwtOf({ of: "variable" }) },
	};
	for (const [index, first] of ORDER.entries()) {
		const there = ORDER.slice(index);
		const env = Object.assign({}, ...there.map((source) => given[source]));
		const file = there.includes("usual") ? usual : join(folder.path, "none");
		const found = await findJwtSource(fakeIo({ env }).io, file);
		assert.equal(
			await found?.read(AUDIENCE),
			jwtOf(first === "github" ? { aud: AUDIENCE, n: 1 } : { of: first }),
			`of ${there.join(", ")}`,
		);
	}
	assert.equal(await findJwtSource(fakeIo().io, join(folder.path, "none")), undefined);
});

test("the usual file must be as trustworthy as one that is named, and hold a JWT", async () => {
	await using folder = await temporaryFolder();
	const usual = join(folder.path, "token");
	const { io } = fakeIo({ env: { SVC_ID_TOKEN: jwtOf({}) } });
	await writeFile(usual, "hunter2");
	await assert.rejects(findJwtSource(io, usual), { kind: "usage", message: /\/\S+ / });
	await writeFile(usual, jwtOf({}));
	await chmod(usual, 0o666);
	await assert.rejects(findJwtSource(io, usual), { kind: "usage", message: /\/\S/, hint: /^chmod go-w / });
});

test("a command sends the JWT of the first of two sources", async () => {
	await using folder = await temporaryFolder();
	const file = join(folder.path, "jwt");
	await writeFile(file, jwtOf({ of: "file" }));
	const variable = { SVC_ID_TOKEN: jwtOf({ of: "variable" }) };
	for (const [first, second] of [
		["file", "github"],
		["file", "variable"],
		["github", "variable"],
	] as const) {
		await using server = await startMachineService();
		const given = { file: { SVC_JWT_FILE: file }, github: server.github, variable };
		const { code, stderr } = await run(["realm", "list"], {
			env: { ...server.env, ...given[second], ...given[first] },
		});
		assert.equal(code, 0, stderr);
		const wanted = first === "file" ? { of: "file" } : { aud: server.address, n: 1 };
		const [sent, ...others] = server.sent() as { jwt: string }[];
		assert.deepEqual([sent?.jwt, others], [jwtOf(wanted), []], `${first} before ${second}`);
	}
});
