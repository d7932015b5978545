import type { Check } from "../../doctor/model.ts";
import type { Catalog } from "../host/catalog.ts";
import type { EngineStore } from "../model.ts";
import type { ConfigSealer } from "./sealed-config.ts";

interface FormerNeeds {
	store: { engines: Pick<EngineStore, "configs" | "config" | "formerRealms"> };
	sealer: Pick<ConfigSealer, "open">;
	catalog: Pick<Catalog, "byType">;
}

/** Realms named in one message. */
const MAX_NAMED = 20;

/**
 * Makes the function that finds leftovers from before configurations for all realms named their realms, and the realms that they serve:
 * configurations, targets of the server's variables, and shared parts that are now each realm's own. Design: §13
 */
export function createFormerRealmsCheck({ store, sealer, catalog }: FormerNeeds) {
	const hasShared = async (type: string) => (await store.engines.config(type, "", "generated")) !== undefined;

	return async (): Promise<Check[]> => {
		const former = Object.groupBy(await store.engines.formerRealms(), ({ engine }) => engine);
		const common = (await store.engines.configs()).filter((row) => row.state === "active" && row.realm_id === "");
		const named = new Set<string>();
		for (const row of common) if ((await sealer.open(row)).allowed_realms !== undefined) named.add(row.engine);
		const types = [...new Set([...common.map(({ engine }) => engine), ...Object.keys(former)])];
		const found = types.map(async (type) => {
			if (named.has(type)) return [];
			const realmPart = catalog.byType.get(type)?.kind.realmPart;
			const realms = shown(former[type]?.map(({ slug }) => slug) ?? []);
			const hint = `name its realms with \`svc engine set ${type} --allow-realm <slug>\``;
			const tell = (message: string): Check => ({
				name: type,
				status: "warning",
				message: `${message}: ${realms}`,
				hint,
			});
			const isSet = realmPart === undefined || common.some(({ engine }) => engine === type);
			const isShared = realmPart !== undefined && former[type] !== undefined && (await hasShared(type));
			return [
				...(isSet ? [tell("it names no realms, so it serves only the realms that already used it")] : []),
				...(isShared ? [tell(realmPart.shared)] : []),
			];
		});
		return (await Promise.all(found)).flat();
	};
}

function shown(slugs: readonly string[]): string {
	if (slugs.length === 0) return "none";
	const more = slugs.length > MAX_NAMED ? ` and ${slugs.length - MAX_NAMED} more` : "";
	return slugs.slice(0, MAX_NAMED).join(", ") + more;
}
