/* The recipes of docs/services.md and docs/docker.md: systemd takes the units, and a token in a file lets the real client in. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { parse } from "yaml";
import { fencesOf, textOf } from "./markdown.ts";
import { DB_URL, type RecipeWorld, skipWithoutMounts, startRecipeWorld } from "./recipe-world.ts";

const UNITS = fencesOf(textOf("docs/services.md"), "ini");
const skipWithoutSystemd =
	spawnSync("systemd-analyze", ["--version"]).status === 0
		? false
		: "systemd-analyze is not installed: apt-get install systemd";

let world: RecipeWorld;

const ends = new AsyncDisposableStack();
after(() => ends.disposeAsync());
before(async () => {
	world = ends.use(await startRecipeWorld());
});

/** Values of a directive in a unit, in order. */
const valuesOf = (unit: string, directive: string) =>
	[...unit.matchAll(new RegExp(`^${directive}=(.*)$`, "gm"))].map(([, value = ""]) => value);

test("systemd accepts every unit on the page", { skip: skipWithoutSystemd }, async (t) => {
	const folder = await mkdtemp(join(tmpdir(), "svc-units-"));
	t.after(() => rm(folder, { recursive: true }));
	assert.ok(UNITS.length > 3);
	for (const [index, unit] of UNITS.entries()) {
		const isTimer = unit.includes("[Timer]");
		// A timer starts the service of its name: that of the fence before it.
		const file = join(folder, isTimer ? `unit-${index - 1}.timer` : `unit-${index}.service`);
		await writeFile(file, unit.replace("/usr/local/bin/svc", process.execPath));
		const { stderr, status } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
		assert.deepEqual([stderr, status], ["", 0], unit);
	}
});

test("a service with its token as a credential of systemd runs with its secrets", async () => {
	const unit = UNITS.find((one) => one.includes("LoadCredential=")) ?? assert.fail("no unit has a credential");
	const [credential = ""] = valuesOf(unit, "LoadCredential");
	const [name = "", source = ""] = credential.split(":");
	await world.follow("docs/services.md", "(umask 077; svc token create shop-unit");
	const credentials = join(world.home, "credentials");
	await mkdir(credentials);
	await world.asAda(`cp ${basename(source)} ${join(credentials, name)}; chmod 0400 ${join(credentials, name)}`);
	const env = Object.fromEntries(valuesOf(unit, "Environment").map((one) => one.split(/=(.*)/s)));
	const [line = ""] = valuesOf(unit, "ExecStart");
	const started = line
		.replace("/usr/local/bin/svc", "svc")
		.replace(/\/opt\/shop\/server .*/, `sh -c 'test "$DB_URL" = ${DB_URL.prod}'`);
	const { code, stderr } = await world.shell(started, { ...world.fill(env), CREDENTIALS_DIRECTORY: credentials });
	assert.equal(code, 0, stderr);
	const without = await world.shell(started, world.fill(env));
	assert.deepEqual([without.code, without.stdout], [125, ""], "it is the credential that lets it in");
});

test("a container with its token as a secret of Compose runs with its secrets", {
	skip: skipWithoutMounts,
}, async () => {
	const page = textOf("docs/docker.md");
	const compose = fencesOf(page, "yaml")
		.map((fence) => parse(fence))
		.find(({ secrets }) => secrets !== undefined);
	const [dockerfile = ""] = fencesOf(page, "dockerfile");
	const [, entry = "[]"] = /^ENTRYPOINT (.*)$/m.exec(dockerfile) ?? [];
	const [name = ""] = Object.keys(compose.secrets);
	const { environment, secrets } = compose.services.shop;
	assert.deepEqual(secrets, [name]);
	const content = await world.asAda("svc token create container --realm shop --env prod");
	// Compose mounts a secret there: https://docs.docker.com/reference/compose-file/services/#secrets
	const file = { path: `/run/secrets/${name}`, content };
	const program = `sh -c 'test "$DB_URL" = ${DB_URL.prod}'`;
	const { code, stderr } = await world.shell([...JSON.parse(entry), program].join(" "), world.fill(environment), file);
	assert.equal(code, 0, stderr);
});
