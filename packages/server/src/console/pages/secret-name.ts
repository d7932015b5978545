import * as v from "valibot";
import type { AccountStore } from "../../accounts/model.ts";
import type { DayNeeds } from "../../audit/days.ts";
import { check } from "../../http/input.ts";
import { Environment } from "../../messages.ts";
import type { RewriteNeeds } from "../../secrets/deletion.ts";
import { SecretKey } from "../../secrets/model.ts";
import type { BulkNeeds, SecretName } from "../../secrets/secrets.ts";
import { type Address, address } from "../html.ts";
import type { Visit } from "../page.ts";

/** Dependencies of the pages of a secret. */
export type SecretNeeds = BulkNeeds &
	RewriteNeeds &
	DayNeeds & { store: { accounts: Pick<AccountStore, "byId" | "session"> } };

const Name = v.object({ key: SecretKey, env: v.optional(Environment, "dev") });

/** Reads the secret that a page's address names. @throws AppError validation_failed, invalid_environment */
export function nameOf({ params: [slug = "", given = ""], query }: Pick<Visit, "params" | "query">): SecretName {
	const { key, env: environment } = check(Name, { key: given, env: query.env });
	return { slug, key, environment };
}

/** Makes the address of a secret's page. */
export function pageOf({ slug, key, environment }: SecretName): Address {
	return address`/console/realms/${slug}/secrets/${key}?env=${environment}`;
}
