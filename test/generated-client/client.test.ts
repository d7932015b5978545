import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import openapiTypes, { astToString } from "openapi-typescript";
import { api } from "../harness/client.ts";
import { openApi } from "../harness/openapi.ts";
import { type Server, startServer } from "../harness.ts";

const run = promisify(execFile);
const HERE = import.meta.dirname;
const GENERATED = join(HERE, ".generated");
const COMPILER = createRequire(import.meta.url).resolve("typescript/lib/tsc.js");
const STRICT = ["--noEmit", "--strict", "--module", "nodenext", "--target", "esnext", "--skipLibCheck"];
const TYPES = [
	"--allowImportingTsExtensions",
	"--types",
	"node",
	"--typeRoots",
	join(HERE, "../../node_modules/@types"),
];

let server: Server;

before(async () => {
	server = await startServer();
	await mkdir(GENERATED, { recursive: true });
});
after(async () => {
	await server.close();
	await rm(GENERATED, { recursive: true, force: true });
});

test("a client whose types are generated from the API's document compiles and does a person's work", async () => {
	const document = await openApi(api(server));
	const types = astToString(await openapiTypes(JSON.stringify(document)));
	await writeFile(join(GENERATED, "schema.d.ts"), types);
	const client = join(HERE, "client.mts");
	await run(process.execPath, [COMPILER, ...STRICT, ...TYPES, client]).catch((error) => assert.fail(error.stdout));
	const who = ["ada@example.com", "correct horse battery"];
	const { stdout } = await run(process.execPath, [client, server.url, ...who], {
		env: { NODE_EXTRA_CA_CERTS: join(server.data, "tls.crt") },
	});
	assert.deepEqual(JSON.parse(stdout), {
		values: [{ key: "FIRST", value: "value of FIRST", version: "1" }],
		has_more: true,
		sync: "value of SECOND",
		missing: "not_found",
		request_id: true,
		status: "healthy",
	});
});
