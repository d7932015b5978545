import assert from "node:assert/strict";
import { test } from "node:test";
import { FatalError } from "../../errors.ts";
import { ConnectionLost } from "./connection.ts";
import { reasonOf } from "./failure.ts";

test("each error of a database has a reason", () => {
	const coded = (code: string) => Object.assign(new Error(), { code });
	for (const [error, reason] of [
		[coded("ECONNREFUSED"), "unreachable"],
		[new Error("timeout expired"), "unreachable"],
		[new ConnectionLost(), "unreachable"],
		[coded("57P03"), "starting"],
		[coded("28P01"), "refused"],
		[coded("3D000"), "refused"],
		[coded("DEPTH_ZERO_SELF_SIGNED_CERT"), "certificate"],
		[coded("ERR_TLS_CERT_ALTNAME_INVALID"), "certificate"],
		[coded("53300"), "too_many_connections"],
		[coded("53100"), "full"],
		[coded("53200"), "resources"],
		[coded("58030"), "resources"],
		[coded("25006"), "read_only"],
		[coded("55P03"), "locked"],
		[coded("57014"), "slow"],
		[new FatalError("a standby"), "unsuitable"],
	] as const)
		assert.equal(reasonOf(error), reason);
});
