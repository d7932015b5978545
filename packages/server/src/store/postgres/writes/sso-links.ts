import { isProofOf } from "../../../accounts/decide.ts";
import type { OwnerProof } from "../../../accounts/model.ts";
import { decideLink, decideUnlink, type LinkedIdentity } from "../../../sso/decide.ts";
import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";
import { useForChange } from "./factor-proofs.ts";
import { accountOf, identitiesOf, ownerOf } from "./sso-people.ts";

type LinkWrites = Pick<Async<Implementations<"write">["sso"]>, "link" | "unlink">;

/** Makes the operations of an account's owner on its identities. */
export function linkWrites(db: Change): LinkWrites {
	return {
		async link(link, event) {
			const { identity, id, user_id, at: created_at, proof } = link;
			const identities = await identitiesOf(db, user_id);
			if (!(await isProven(db, link, identities))) return "unproven";
			const decision = decideLink(user_id, await ownerOf(db, identity), identities.length);
			if (decision !== "link") return decision;
			const outcome = proof.password === null ? "done" : await useForChange(db, user_id, proof.factor, event);
			if (outcome !== "done") return outcome === "used" ? "used" : "unproven";
			await db.insert("sso_identity", {
				...identity,
				...{ id, user_id, created_at, is_vouched: true, made_account: false },
			});
			db.append(event);
			return "done";
		},
		async unlink(input, event) {
			const { id, user_id } = input;
			const identities = await identitiesOf(db, user_id);
			if (!(await isProven(db, input, identities))) return "unproven";
			const names = identities.map(({ provider }) => provider);
			const providers = await db.verified("sso_provider", "name = ANY($1::text[])", [names]);
			const decision = decideUnlink(
				id,
				await accountOf(db, user_id),
				identities,
				providers.map(({ name }) => name),
			);
			if (decision.outcome !== "done") return decision.outcome;
			const { password, factor } = input.proof;
			const outcome = password === null ? "done" : await useForChange(db, user_id, factor, event);
			if (outcome !== "done") return outcome === "used" ? "used" : "unproven";
			await db.remove("sso_identity", "id = $1 AND user_id = $2", [id, user_id]);
			if (!decision.isVouched) await db.update("sso_identity", { is_vouched: false }, "user_id = $1", [user_id]);
			db.append(event, { provider: decision.provider });
			return "done";
		},
	};
}

async function isProven(
	db: Change,
	{ user_id, proof }: { user_id: string; proof: OwnerProof },
	identities: readonly LinkedIdentity[],
): Promise<boolean> {
	const [session] = await db.verified("session", "jti = $1", [proof.jti]);
	const providers = identities.map(({ provider }) => provider);
	return isProofOf(await accountOf(db, user_id), proof, providers, session?.provider);
}
