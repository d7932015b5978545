import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { bundle } from "../../scripts/binary/bundle.ts";
import { licencesOf } from "../../scripts/binary/licences.ts";

let folder: string;
let packages: string[];
/** Chapters by their subject, such as `hono 4.13.19`. */
let chapters: Map<string, string>;

before(async () => {
	folder = await mkdtemp(join(tmpdir(), "svc-licences-"));
	({ packages } = await bundle(folder, {}));
	const parts = licencesOf(packages)
		.split(/^(\S+ \S+?)(?:,.*)?\n=+\n\n/m)
		.slice(1);
	chapters = new Map(parts.flatMap((title, index) => (index % 2 === 0 ? [[title, parts[index + 1] ?? ""]] : [])));
});
after(() => rm(folder, { recursive: true, force: true }));

test("everything of others that is in the single binary has a chapter that says something", async () => {
	const names = await Promise.all(
		packages.map(async (at) => JSON.parse(await readFile(join(at, "package.json"), "utf8"))),
	);
	assert.deepEqual(
		[...chapters.keys()],
		[`Node.js ${process.version}`, ...names.map(({ name, version }) => `${name} ${version}`)],
	);
	for (const [title, text] of chapters) assert.match(text, /licen[cs]e|copyright/i, title);
});

const HELD: [name: string, what: string, text: RegExp][] = [
	["swagger-ui-dist", "the page of the API", /Copyright 2020-2021 SmartBear Software Inc/],
	["swagger-ui-dist", "what is bundled in that page", /\* react\.production/],
	["@node-rs/argon2", "the library that hashes passwords", /^Copyright.*Permission is hereby granted/ms],
	["better-sqlite3", "the database", /^Copyright.*Permission is hereby granted/ms],
	["node-rsa", "a package whose licence is in its README", /^## License\s+Copyright \(c\) 2014 +rzcoder/],
	["@redis/client", "a package without a text", /^The package has no text of its licence\. It says: MIT, https:/],
];

for (const [name, what, text] of HELD) {
	test(`the licences have that of ${what}`, () => {
		const found = [...chapters].find(([title]) => title.startsWith(`${name} `));
		assert.match(found?.[1] ?? "", text);
	});
}
