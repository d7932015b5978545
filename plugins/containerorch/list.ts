import { EngineError, isObject } from "@svc/plugin-sdk";
import { inStep } from "./credential.ts";
import { isManagedName } from "./names.ts";
import { accountsPath } from "./objects.ts";
import { CallError, type Orchestrator } from "./orchestrator.ts";

const PAGE_ACCOUNTS = 250;
const MAX_PAGES = 400;

/**
 * Lists the names of a namespace's managed service accounts, by which the core sees that one is gone: all of them or none.
 * @returns null when the engine's token may not look
 * @throws EngineError `listing service accounts: …`
 * Design: §9
 */
export async function listAccounts(orchestrator: Orchestrator, namespace: string): Promise<string[] | null> {
	const names: string[] = [];
	const accounts = accountsPath(namespace);
	let rest = "";
	for (let page = 0; page < MAX_PAGES; page++) {
		const path = `${accounts}?limit=${PAGE_ACCOUNTS}${rest}`;
		const answer = await orchestrator.call({ method: "GET", path }).catch((error: unknown) => {
			if (error instanceof CallError && error.status === 403) return undefined;
			throw inStep("listing service accounts", error);
		});
		if (answer === undefined) return null;
		if (!Array.isArray(answer.items)) break;
		names.push(...answer.items.map(nameOf).filter(isManagedName));
		const more = isObject(answer.metadata) ? answer.metadata.continue : undefined;
		if (typeof more !== "string" || more === "") return names;
		rest = `&continue=${encodeURIComponent(more)}`;
	}
	throw new EngineError(`listing service accounts: GET ${accounts}: the answer is no list, or has no end`);
}

function nameOf(item: unknown): string {
	const { metadata } = isObject(item) ? item : {};
	return isObject(metadata) && typeof metadata.name === "string" ? metadata.name : "";
}
