import type { Check } from "../../doctor/model.ts";
import { PKI } from "../kinds/pki/authority.ts";
import type { EngineStore } from "../model.ts";
import type { ConfigSealer } from "./sealed-config.ts";

interface FormerNeeds {
	store: { engines: Pick<EngineStore, "configs" | "config" | "formerRealms"> };
	sealer: Pick<ConfigSealer, "open">;
}

/** Realms that are named in one message. */
const MAX_NAMED = 20;

/**
 * Makes the function that finds what goes on as it was before configurations for all realms named their realms, and whom it serves: the
 * configurations, what the server's variables lead to, and the authority that realms share. Design: §13
 */
export function createFormerQuestion({ store, sealer }: FormerNeeds) {
	return async (): Promise<Check[]> => {
		const former = Object.groupBy(await store.engines.formerRealms(), ({ engine }) => engine);
		const common = (await store.engines.configs()).filter((row) => row.state === "active" && row.realm_id === "");
		const named = new Set<string>();
		for (const row of common) if ((await sealer.open(row)).allowed_realms !== undefined) named.add(row.engine);
		const hasShared = (await store.engines.config(PKI, "", "generated")) !== undefined;
		const types = [...new Set([...common.map(({ engine }) => engine), ...Object.keys(former)])];
		return types.flatMap((type) => {
			if (named.has(type)) return [];
			const realms = shown(former[type]?.map(({ slug }) => slug) ?? []);
			const hint = `\`svc engine set ${type} --allow-realm <slug>\` names the realms that it is for`;
			const tell = (message: string): Check => ({
				name: type,
				status: "warning",
				message: `${message}: ${realms}`,
				hint,
			});
			const isSet = type !== PKI || common.some(({ engine }) => engine === type);
			const isShared = type === PKI && hasShared && former[type] !== undefined;
			return [
				...(isSet ? [tell("it names no realms, so it serves those that used it before, and no other")] : []),
				...(isShared ? [tell("these realms share one authority, and trust each other's certificates")] : []),
			];
		});
	};
}

function shown(slugs: readonly string[]): string {
	if (slugs.length === 0) return "none";
	const more = slugs.length > MAX_NAMED ? ` and ${slugs.length - MAX_NAMED} more` : "";
	return slugs.slice(0, MAX_NAMED).join(", ") + more;
}
