import * as v from "valibot";
import { type Route, route } from "../http/route.ts";
import { Count, Instant, Uuid } from "../messages.ts";
import { isEnded } from "./decide.ts";
import {
	addFactor,
	confirmFactor,
	type FactorNeeds,
	listFactors,
	removeFactor,
	renewRecoveryCodes,
} from "./factors.ts";
import { AddFactor, AskedAgain, ConfirmFactor, type Factor } from "./model.ts";

/** Error codes of a change that asks for the password and a code. */
const ASKED = ["unsupported_operation", "wrong_password", "wrong_code", "conflict", "rate_limited"] as const;

const CodesSchema = v.object({ recovery_codes: v.array(v.string()) });

const FactorSchema = v.object({
	id: Uuid,
	type: v.string(),
	name: v.nullable(v.string()),
	rp_id: v.nullable(v.string()),
	created_at: Instant,
	confirmed_at: v.nullable(Instant),
	disabled: v.boolean(),
});

/** Shows a factor without its secret. A passkey that was copied is disabled. */
function shownFactor(factor: Factor): v.InferInput<typeof FactorSchema> {
	const { id, type, name, rp_id, created_at, confirmed_at } = factor;
	return { id, type, name, rp_id, created_at, confirmed_at, disabled: isEnded(factor) };
}

/** Design: §16. */
export function factorRoutes(needs: FactorNeeds): Route[] {
	return [...listRoutes(needs), ...changeRoutes(needs)];
}

function listRoutes(needs: FactorNeeds): Route[] {
	return [
		route({
			method: "GET",
			path: "/api/v1/auth/factors",
			forNewFactor: true,
			summary: "The second factors of the caller's account, and how many recovery codes are left",
			status: 200,
			answer: v.object({ factors: v.array(FactorSchema), recovery_codes_left: Count }),
			errors: ["unsupported_operation"],
			async handle({ actor }) {
				const { factors, recovery_codes_left } = await listFactors(needs, actor);
				return { factors: factors.map(shownFactor), recovery_codes_left };
			},
		}),
	];
}

function changeRoutes(needs: FactorNeeds): Route[] {
	return [
		route({
			method: "POST",
			path: "/api/v1/auth/factors",
			forNewFactor: true,
			summary: "Make the secret of a second factor, shown once; its first code must confirm it within 15 minutes",
			body: AddFactor,
			status: 201,
			answer: v.object({ id: Uuid, secret: v.string(), url: v.string() }),
			errors: [...ASKED, "limit_reached"],
			handle: ({ actor, body }) => addFactor(needs, actor, body),
		}),
		route({
			method: "POST",
			path: "/api/v1/auth/factors/{id}/confirm",
			forNewFactor: true,
			summary:
				"Confirm a second factor with its first code: end the other sessions, and get recovery codes, shown once",
			body: ConfirmFactor,
			status: 200,
			answer: CodesSchema,
			errors: ["not_found", "unsupported_operation", "wrong_code", "rate_limited"],
			handle: ({ actor, params, body }) => confirmFactor(needs, actor, params.id, body.code),
		}),
		route({
			method: "POST",
			path: "/api/v1/auth/recovery-codes",
			summary: "Make new recovery codes, shown once, in place of those before",
			body: AskedAgain,
			status: 201,
			answer: CodesSchema,
			errors: [...ASKED],
			handle: ({ actor, body }) => renewRecoveryCodes(needs, actor, body),
		}),
		route({
			method: "DELETE",
			path: "/api/v1/auth/factors/{id}",
			summary: "Remove a second factor",
			body: AskedAgain,
			status: 200,
			answer: v.object({ message: v.string() }),
			errors: ["not_found", ...ASKED],
			async handle({ actor, params, body }) {
				await removeFactor(needs, actor, params.id, body);
				return { message: "second factor removed" };
			},
		}),
	];
}
