import type { Api } from "../harness/client.ts";
import { ok } from "../harness/expect.ts";
import { invitation, type Person, unique } from "../harness/fixtures.ts";
import type { Invitation } from "../harness/resources.ts";
import { addFactor, nextCode } from "../harness/totp.ts";

/** Makers of codes and second factors, and their owners. */
export interface CodePeople {
	readonly root: Person;
	readonly owner: Person;
	/** Those for whom the instance admin makes reset codes. */
	readonly viewer: Person;
	readonly ex: Person;
	/** Somebody with a second factor, and somebody who gave it up. */
	readonly factored: Person;
	readonly unfactored: Person;
	/** Somebody with two passkeys, and no other second factor. */
	readonly holder: Person;
}

/** Codes, invitations and second factors: those that stay, and those that end. */
export interface Codes {
	readonly factor: { readonly secret: string };
	readonly removed_factor: { readonly id: string; readonly secret: string };
	/** A recovery code, a reset code of `ex` and an invitation that end. */
	readonly recovery_code: string;
	readonly reset_code: string;
	readonly invited: Invitation;
}

/** Makes them all. @param slugs two realms of the owner */
export async function makeCodes(client: Api, people: CodePeople, slugs: readonly [string, string]): Promise<Codes> {
	const { owner, viewer, ex, factored, unfactored } = people;
	const [slug, other] = slugs;
	const { recovery_codes, ...factor } = await addFactor(client, factored);
	const removed_factor = await addFactor(client, unfactored);
	await resetCode(client, people, viewer);
	await invitation(client, owner, {
		bindings: [
			{ realm: slug, role: "viewer" },
			{ realm: other, role: "member" },
		],
	});
	return {
		factor,
		removed_factor,
		recovery_code: recovery_codes[0] ?? "",
		reset_code: await resetCode(client, people, ex),
		invited: await invitation(client, owner, { bindings: [{ realm: slug, role: "member" }] }),
	};
}

async function resetCode(client: Api, { root }: CodePeople, { id }: Person): Promise<string> {
	return ok(await client.post<{ code: string }>(`/users/${id}/reset`, {}, { token: root.token }), 201).code;
}

/** Ends what ends: by a newer code, a removal, or taking it back. */
export async function endCodes(client: Api, people: CodePeople, codes: Codes): Promise<void> {
	const { owner, ex, factored, unfactored } = people;
	await resetCode(client, people, ex);
	ok(await client.delete(`/invitations/${codes.invited.id}`, { token: owner.token }));
	const proofOf = async ({ password }: Person, { secret }: { secret: string }) => {
		return { current_password: password, code: await nextCode(secret) };
	};
	const proof = await proofOf(factored, codes.factor);
	ok(await client.post("/auth/recovery-codes", proof, { token: factored.token }), 201);
	const { id } = codes.removed_factor;
	const raw = JSON.stringify(await proofOf(unfactored, codes.removed_factor));
	ok(await client.send("DELETE", `/api/v1/auth/factors/${id}`, { token: unfactored.token, raw }));
}

/** Requests with codes that ended, each with what it asks for. */
export function requestsWithEndedCodes(
	{ ex, factored, holder }: CodePeople,
	codes: Codes,
): [what: string, path: string, body: object][] {
	const { email, password } = factored;
	const new_password = "a password by a code that ended";
	const { invited } = codes;
	return [
		["a password without its second factor", "/auth/login", { email, password }],
		["a password without its passkey", "/auth/login", { email: holder.email, password: holder.password }],
		["a recovery code", "/auth/login", { email, password, code: codes.recovery_code }],
		["a reset code", "/auth/reset", { email: ex.email, code: codes.reset_code, new_password }],
		[
			"an invitation",
			"/auth/register",
			{ email: invited.email, password: new_password, name: unique("guest"), invitation: invited.code },
		],
	];
}
