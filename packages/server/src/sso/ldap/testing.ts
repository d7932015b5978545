import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import * as v from "valibot";
import {
	type FakeLdap,
	type FakeLdapOptions,
	type Reply,
	type Request,
	startFakeLdap,
} from "../../../../../test/peers/ldap-fake.ts";
import { PEOPLE } from "../../../../../test/peers/slapd.ts";
import { ProviderUnavailable, type RefusalReason, SsoRefusal } from "../model.ts";
import { LdapSettings } from "../settings.ts";
import { createLdap, type Ldap } from "./ldap.ts";

/** Makes a provider's settings, with the API's defaults. */
export function settingsOf(fields: Readonly<Record<string, unknown>>): LdapSettings {
	return v.parse(LdapSettings, { user_base_dn: PEOPLE, ...fields });
}

/** Makes an adapter that ends with the test. */
export function ldapFor(t: TestContext): Ldap {
	const ldap = createLdap();
	t.after(() => ldap.close());
	return ldap;
}

/** Starts a directory that lies, and ends with the test. */
export async function fakeFor(
	t: TestContext,
	reply: (request: Request) => Reply,
	options?: FakeLdapOptions,
): Promise<FakeLdap> {
	const fake = await startFakeLdap(reply, options);
	t.after(fake.stop);
	return fake;
}

/** For `assert.rejects`: checks for a refusal with this reason. */
export function refusedAs(reason: RefusalReason): (error: unknown) => true {
	return (error) => {
		assert.ok(error instanceof SsoRefusal, String(error));
		assert.equal(error.reason, reason);
		return true;
	};
}

/** For `assert.rejects`: checks for an unavailable provider with this message. */
export function unavailableAs(message: RegExp): (error: unknown) => true {
	return (error) => {
		assert.ok(error instanceof ProviderUnavailable, String(error));
		assert.match(error.message, message);
		return true;
	};
}
