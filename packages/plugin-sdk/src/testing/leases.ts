import { engineCapabilities } from "@svc/protocol";
import { type Case, expectData } from "./case.ts";
import type { Conversation } from "./conversation.ts";
import { Finding } from "./finding.ts";

/** A lease as the server names one in its requests. */
const LEASE = { id: "0198c0de-0000-7000-8000-000000000001", name: "svc-1f3a5c7e" };

/** Cases for engines whose credentials have leases. The contract: Leases. */
export const LEASE_CASES: readonly Case[] = [
	{
		name: "with engine:lease_hint, a credential has the name that the server chose until it is revoked",
		async run(engine, descriptor) {
			const capabilities = engineCapabilities(descriptor);
			if (!capabilities.includes("lease_hint")) return;
			const role = descriptor.default_roles[0]?.name;
			const made = await engine.ask("generate", { role, ttl: "10m", _lease: LEASE });
			if ("error" in made) return;
			const isListing = capabilities.includes("list");
			const listed = isListing && (await names(engine)).includes(LEASE.name);
			for (const time of ["", ", repeated,"]) {
				const answer = await engine.ask("validate", { ...made.data, _lease: LEASE });
				if ("error" in answer && !/\bstatus 404\b/.test(answer.error))
					throw new Finding(
						`validate${time} of what generate made is answered with an error`,
						"answer data when the credential is gone, even if it was gone before",
					);
			}
			const said = [made.data.username, made.data.name].find((value) => typeof value === "string");
			if (said !== undefined && said !== LEASE.name)
				throw new Finding(
					"generate answers another name than the one in _lease",
					"make the credential under _lease.name, or leave out engine:lease_hint",
				);
			if (isListing && !listed)
				throw new Finding("list leaves out what generate has made", "list all names that exist at the system");
			if (isListing && (await names(engine)).includes(LEASE.name))
				throw new Finding(
					"list still has what validate has revoked",
					"remove the credential before validate is answered",
				);
		},
	},
];

async function names(engine: Conversation): Promise<unknown[]> {
	const { names } = expectData(
		await engine.ask("list"),
		"list",
		"answer the names at the system that generate reached",
	);
	return Array.isArray(names) ? names : [];
}
