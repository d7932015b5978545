import assert from "node:assert/strict";
import test from "node:test";
import { page, startService } from "../testing/fake-server.ts";
import { run, temporaryFolder } from "../testing/terminal.ts";

for (const name of ["--watch-interval", "--kill-after"]) {
	test(`${name} is no longer than a timer takes, and that is seen before anything is asked`, async () => {
		await using server = await startService(() => page("secrets", []));
		await using home = await temporaryFolder();
		const env = { ...server.env, HOME: home.path, PATH: "/usr/bin:/bin" };
		const watch = (duration: string) =>
			run(["run", "--realm", "shop", "--watch", name, duration, "--", "true"], { env });
		for (const duration of ["21d", "481h", "999999d"]) {
			const { code, stderr } = await watch(duration);
			assert.equal(code, 125);
			assert.match(stderr, new RegExp(`^svc: ${name} .*\\b20d\\b`));
		}
		assert.deepEqual(server.requests, []);
		assert.equal((await watch("20d")).code, 0);
	});
}
