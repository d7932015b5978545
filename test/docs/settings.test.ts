import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { readConfig } from "../../packages/server/src/config.ts";
import { fencesOf, textOf } from "./markdown.ts";

/** The names and defaults in the page's first table. */
const rows = [...textOf("docs/settings.md").matchAll(/^\| `([a-z_.]+)` +\| `(SVC_[A-Z_]+)` +\| (.+?) *\|$/gm)].map(
	([, name = "", variable = "", text = ""]) => ({ name, variable, first: /^`([^`]*)`/.exec(text)?.[1] }),
);

/** Returns all settings, as the server lists them in its error about an unknown one. */
function settings(): string[] {
	try {
		readConfig({ SVC_NO_SUCH_SETTING: "1" }, "/");
	} catch (error) {
		return (/the settings are (.*)$/.exec((error as Error).message)?.[1] ?? "").split(", ");
	}
	throw new Error("an unknown setting was taken");
}

test("the page has every setting of the server, in its order, and its variable", () => {
	assert.deepEqual(
		rows.map(({ name }) => name),
		settings(),
	);
	for (const { name, variable } of rows) assert.equal(variable, `SVC_${name.replace(".", "_").toUpperCase()}`);
});

test("the page tells the defaults that the server has", () => {
	const config = readConfig({}, "/srv");
	const defaults: Record<string, string | undefined> = {
		data_dir: config.data_dir.replace("/srv/", ""),
		listen: `${config.listen.host}:${config.listen.port}`,
		drain_seconds: `${config.drain_seconds}`,
		"tls.mode": config.tls.mode,
		master_key_file: "master.key",
		"registration.mode": config.registration.mode,
		"auth.second_factor": config.second_factor,
		plugins_dir: config.plugins_dir.replace("/srv/data/", ""),
		"log.level": config.log_level,
		"secrets.enforce_expiry": `${config.enforce_expiry}`,
		"backup.directory": config.backup.directory.replace("/srv/data/", ""),
		"backup.keep": `${config.backup.keep}`,
		"limits.connections": `${config.limits.connections}`,
		"limits.realm_bytes": `${config.limits.realm_bytes}`,
		"limits.realms_per_account": `${config.limits.realms_per_account}`,
	};
	assert.deepEqual(
		Object.fromEntries(rows.filter(({ first }) => first !== undefined).map(({ name, first }) => [name, first])),
		defaults,
	);
});

test("the server takes each svc.toml of the installation's page", async (t) => {
	const folder = await mkdtemp(join(tmpdir(), "svc-docs-"));
	t.after(() => rm(folder, { recursive: true }));
	const files = fencesOf(textOf("docs/install.md"), "toml");
	assert.ok(files.length > 1);
	for (const text of files) {
		await writeFile(join(folder, "svc.toml"), text);
		assert.match(String(readConfig({}, folder).base_url), /^https:\/\/secrets\.example\.com/);
	}
});
