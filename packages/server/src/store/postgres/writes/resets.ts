import type { AuditEvent } from "../../../audit/model.ts";
import { decideRecovery, decideReset, MAX_TOLD_REALMS } from "../../../resets/decide.ts";
import type { DroppedFactors, ResetCode } from "../../../resets/model.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { dropFactors } from "./factors.ts";

type ResetWrites = Async<Implementations<"write">["resets"]>;

/** Makes the operations on reset codes. */
export function resetWrites(db: Change): ResetWrites {
	return {
		async make(code, event) {
			const decision = decideReset((await db.verified("account", "id = $1", [code.user_id]))[0]);
			if (decision !== "done") return decision;
			await keep(db, code);
			db.append(event);
			return "done";
		},
		async use({ user_id, digest, password, at }, event) {
			const isCode = "user_id = $1 AND digest = $2 AND expires_at > $3";
			const codes = await db.verified("reset_code", isCode, [user_id, digest, at]);
			const enabled = await db.verified("account", "id = $1 AND disabled_at IS NULL", [user_id]);
			if (codes.length === 0 || enabled.length === 0) return "changed";
			await db.update("account", { password }, "id = $1", [user_id]);
			await db.remove("reset_code", "user_id = $1", [user_id]);
			await db.remove("known_source", "user_id = $1", [user_id]);
			db.append(event, { sessions_ended: await db.remove("session", "user_id = $1", [user_id]) });
			await tellRealms(db, user_id, event);
			return "done";
		},
		async dropFactors(user_id, event) {
			if ((await db.verified("account", "id = $1", [user_id])).length === 0) return undefined;
			await db.remove("known_source", "user_id = $1", [user_id]);
			const dropped = await endFactors(db, user_id);
			db.append(event, { ...dropped });
			await tellRealms(db, user_id, event);
			return dropped;
		},
		recover: (code, event) => recover(db, code, event),
		drop: (expired_before) => db.remove("reset_code", "expires_at < $1", [expired_before]),
	};
}

/** Keeps a code in place of the account's earlier one. */
async function keep(db: Change, code: ResetCode): Promise<void> {
	// A row that another program altered would stay without a MAC, whatever changes in it.
	await db.remove("reset_code", "user_id = $1", [code.user_id]);
	await db.insert("reset_code", code);
}

/** Adds the event to each live realm that the account owns or is bound in. */
async function tellRealms(db: Change, user_id: string, event: AuditEvent): Promise<void> {
	const realms = await db.sql.rows<{ id: string; slug: string }>(
		`(SELECT id, slug FROM realm WHERE user_id = $1 AND deleted_at IS NULL ORDER BY id LIMIT $2)
		UNION ALL
		(SELECT realm.id, slug FROM binding JOIN realm ON realm.id = realm_id
			WHERE binding.user_id = $1 AND deleted_at IS NULL ORDER BY binding.id LIMIT $2)
		LIMIT $2`,
		[user_id, MAX_TOLD_REALMS],
	);
	for (const { id, slug } of realms) db.append({ ...event, realm_id: id, realm: slug });
}

async function recover(
	db: Change,
	...[{ drop_factors = false, ...code }, event]: Parameters<ResetWrites["recover"]>
): ReturnType<ResetWrites["recover"]> {
	const { user_id } = code;
	const others = await db.verified("account", "instance_admin AND disabled_at IS NULL AND id <> $1", [user_id]);
	const decision = decideRecovery((await db.verified("account", "id = $1", [user_id]))[0], others.length, drop_factors);
	if (decision.outcome !== "done") return decision;
	const { enabled, made_admin } = decision;
	if (enabled || made_admin)
		await db.update("account", { disabled_at: null, ...(made_admin && { instance_admin: true }) }, "id = $1", [
			user_id,
		]);
	await keep(db, code);
	// The password goes, too: somebody else may know it.
	if (drop_factors) await db.update("account", { password: null }, "id = $1", [user_id]);
	const ended = drop_factors ? await endFactors(db, user_id) : {};
	db.append(event, { enabled, made_admin, ...ended });
	// The log's own words for what changed.
	if (enabled) db.append({ ...event, type: "user.enabled", data: { user_id } });
	if (made_admin) db.append({ ...event, type: "user.admin.set", data: { user_id, instance_admin: true } });
	return { ...decision, ...ended };
}

/** Ends the factors, and the sessions that they guarded. */
async function endFactors(db: Change, user_id: string): Promise<DroppedFactors> {
	const factors_dropped = await dropFactors(db, user_id);
	return { factors_dropped, sessions_ended: await db.remove("session", "user_id = $1", [user_id]) };
}
