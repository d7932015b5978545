import * as v from "valibot";
import { AppError } from "../../errors.ts";
import { check } from "../../http/input.ts";
import { Environment } from "../../messages.ts";
import { type ExplainNeeds, explainAccess } from "../../policy/explain.ts";
import { command, joined } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { options, table } from "./components.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { rightOf } from "./rights.ts";
import { COLUMNS } from "./secrets.ts";

/** Dependencies of the page that explains rights. */
export type ExplainPageNeeds = ExplainNeeds;

const PATH = /^\/console\/realms\/([^/]+)\/explain$/;
const Asked = v.object({ env: v.optional(Environment), user: v.optional(v.pipe(v.string(), v.maxLength(255))) });

/** Why somebody may or may not do something in a realm, by the decision that requests meet. */
export function explainPage(needs: ExplainPageNeeds): Endpoint[] {
	return [{ method: "GET", path: PATH, answer: (visit) => explain(needs, visit) }];
}

async function explain(needs: ExplainPageNeeds, { actor, params: [slug = ""], query }: Visit): Promise<Page> {
	const may = await mayIn(needs, actor, slug);
	const { env: environment, user } = check(Asked, { env: query.env || undefined, user: query.user || undefined });
	const question = { realm: slug, user, capability: undefined, environment };
	const found = await explainAccess(needs, actor, question).catch((error: unknown) => unknownIn(error, user));
	const shared = {
		...inRealm(slug, "Members", may),
		above: [...(inRealm(slug, "Members").above ?? []), ["Members", address`/console/realms/${slug}/members`]],
	} satisfies Partial<Page>;
	const form = explainForm(slug, user ?? "", environment, may("policy:manage"));
	const who = user ?? "you";
	const title = `What ${who} may do in ${slug}`;
	if (found instanceof AppError)
		return {
			...{ ...shared, title, status: found.status },
			body: html`${form}<p role="alert">Nothing: nobody with this e-mail has a role in ${slug}. <a href="/console/realms/${slug}/members">Members</a> shows who has one.</p>`,
		};
	const rows = found.verdicts.map(
		({ capability, scope, allowed, reason, command }) =>
			html`<tr><th scope="row">${rightOf(capability, scope)}</th><td data-label="Allowed">${allowed ? "yes" : html`<span class="bad">no</span>`}</td><td data-label="Why">${reason}</td><td data-label="What gives it">${command === "" ? "" : html`<code>${command}</code>`}</td></tr>`,
	);
	const standing = found.disabled ? html`<p class="bad">The account is disabled.</p>` : "";
	const about = user === undefined ? [] : [command`--user ${user}`];
	const where = environment === undefined ? [] : [command`--env ${environment}`];
	return {
		...{ ...shared, title },
		body: html`${form}${standing}<p>${standingOf(found)}</p>${table("Each right, and its reason", ["May they", "Allowed", "Why", "What gives it"], rows)}`,
		commands: [joined(command`svc policy explain --realm ${slug}`, ...about, ...where)],
	};
}

/** Returns the error that somebody has no role in the realm, or no account: nobody may tell these apart. */
function unknownIn(error: unknown, user: string | undefined): AppError {
	if (error instanceof AppError && error.code === "not_found" && user !== undefined) return error;
	throw error;
}

function standingOf({ role, is_owner }: { role: string; is_owner: boolean }): string {
	if (is_owner) return "Owner of the realm.";
	return role === "" ? "No role in the realm." : `Role in the realm: ${role}.`;
}

/** Asks about another person only where the rules answer that. */
export function explainForm(
	slug: string,
	user: string,
	environment: Environment | undefined,
	mayAskOthers: boolean,
): Html {
	const person = mayAskOthers
		? html`<p><label for="user">E-mail, or empty for yourself</label><input id="user" name="user" type="text" value="${user}" autocomplete="off" spellcheck="false"></p>`
		: html`<p class="quiet">An admin of the realm can ask about others, too.</p>`;
	return html`<form method="get" action="/console/realms/${slug}/explain" class="row">${person}<p><label for="env">Environment</label><select id="env" name="env"><option value="">any</option>${options(COLUMNS, environment)}</select></p><p><button>Explain</button></p></form>`;
}
