import assert from "node:assert/strict";
import test from "node:test";
import { run } from "../testing/terminal.ts";

const WRONG: readonly (readonly [words: string, message: RegExp])[] = [
	["secrt get KEY", /^svc: .*'secrt'\nhint: .* secret\? --help\b/],
	["secret gt KEY", /^svc: .*'gt'\nhint: .* get\? /],
	["rollback KEY", /^svc: .*'rollback'\nhint: .*`svc secret rollback`\? /],
	["generate keyvalue", /^svc: .*'generate'\nhint: .*`svc engine generate`\? /],
	["list", /^svc: .*'list'\nhint: .* ls\? /],
	["realm list --adress x", /^svc: .*'--adress'\nhint: .* --address\? /],
	["secret list --realm shop --env prd", / dev, staging, prod, test\nhint: .* prod\? /],
	["secret list --realm shop --env production", /hint: .* prod\? /],
	["secret list --realm shop --env hunter2", / dev, staging, prod, test\nhint: --help\b/],
	["diff stagin prod --realm shop", /^svc: stagin .*\nhint: .* staging\? /],
	["diff hunter2 prod --realm shop", /^svc: .* dev, staging, prod or test\nhint: --env/],
	["audit verfy", /\nhint: .* verify\? --help\b/],
	["backup lst --json", /"message": ".*\bmore words\b/],
	["audit hunter2", /\bmore words\b.*\nhint: --help\b/],
	["help secrt", /^svc: .*\bcommand\nhint: .* secret\? /],
	["help secret hunter2", /^svc: .*\bcommand\nhint: `svc --help`/],
];

for (const [words, message] of WRONG) {
	test(`svc ${words} is a wrong use, which suggests what is near`, async () => {
		const { code, stderr } = await run(words.split(" "), { env: { SVC_TOKEN: "svc_token" } });
		assert.equal(code, 2);
		assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2/);
	});
}
