import assert from "node:assert/strict";
import test from "node:test";
import { run } from "../testing/terminal.ts";

const WRONG: readonly (readonly [words: string, message: RegExp])[] = [
	["secrt get KEY", /^svc: unknown command 'secrt'\nhint: did you mean secret\? --help shows/],
	["secret gt KEY", /^svc: unknown command 'gt'\nhint: did you mean get\? /],
	["rollback KEY", /^svc: unknown command 'rollback'\nhint: did you mean `svc secret rollback`\? /],
	["generate keyvalue", /^svc: unknown command 'generate'\nhint: did you mean `svc engine generate`\? /],
	["list", /^svc: unknown command 'list'\nhint: did you mean ls\? /],
	["realm list --adress x", /^svc: unknown option '--adress'\nhint: did you mean --address\? /],
	["secret list --realm shop --env prd", /takes dev, staging, prod, test\nhint: did you mean prod\? /],
	["secret list --realm shop --env production", /hint: did you mean prod\? /],
	["secret list --realm shop --env hunter2", /takes dev, staging, prod, test\nhint: --help shows/],
	["diff stagin prod --realm shop", /^svc: stagin is not an environment: .*\nhint: did you mean staging\? /],
	["diff hunter2 prod --realm shop", /^svc: an environment is dev, staging, prod or test\nhint: --env/],
	["audit verfy", /than this command takes\nhint: did you mean verify\? --help shows/],
	["backup lst --json", /"message": "there are more words/],
	["audit hunter2", /than this command takes\nhint: --help shows/],
	["help secrt", /^svc: there is no such command\nhint: did you mean secret\? /],
	["help secret hunter2", /^svc: there is no such command\nhint: `svc --help`/],
];

for (const [words, message] of WRONG) {
	test(`svc ${words} is a wrong use, which suggests what is near`, async () => {
		const { code, stderr } = await run(words.split(" "), { env: { SVC_TOKEN: "svc_token" } });
		assert.equal(code, 2);
		assert.match(stderr, message);
		assert.doesNotMatch(stderr, /hunter2/);
	});
}
