import { getUser } from "../../accounts/accounts.ts";
import { setAdmin, setDisabled } from "../../accounts/status.ts";
import { AppError } from "../../errors.ts";
import { createReset, dropFactors, type ResetNeeds } from "../../resets/resets.ts";
import { listMade, type RevocationNeeds, revokeAccess } from "../../revocation/revocation.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { counted, table, time } from "./components.ts";
import { type AskAgainNeeds, askAgain } from "./confirm.ts";
import { keepOnce, ONCE_SECONDS, onceBox, takeOnce } from "./once.ts";
import { stateOf } from "./people.ts";
import { accessOf, type PersonAccessNeeds } from "./person-access.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of a person. */
export type PersonPageNeeds = PersonAccessNeeds & RevocationNeeds & ResetNeeds & AskAgainNeeds;

const PATH = /^\/console\/people\/([^/]+)$/;

const resetOf = (id: string) => `reset code ${id}`;

/** A person, for the instance admin: what they hold and made, and what can be done about it. */
export function personPage(needs: PersonPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => person(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => act(needs, visit) },
	];
}

type Person = Awaited<ReturnType<typeof getUser>>;

async function person(needs: PersonPageNeeds, visit: Visit): Promise<Page> {
	const { actor, params, token } = visit;
	const found = await getUser(needs, actor, params[0] ?? "");
	const { id, email, name, created_at } = found;
	const code = takeOnce(visit, needs.system, resetOf(id));
	const shown = code === undefined ? "" : onceBox(`The reset code for ${email}`, code, HANDING_ON);
	const isSelf = id === actor.user_id;
	const button: Button = (action, label) =>
		html`<form method="post" action="/console/people/${id}">${token}<input type="hidden" name="action" value="${action}"><button>${label}</button></form>`;
	return {
		...ofServer("People", actor),
		title: email,
		...(code === undefined ? {} : { refresh: ONCE_SECONDS }),
		body: html`${shown}<p>${name}, since ${time(created_at)}. ${stateOf(found)} <a href="/console/audit?actor=${email}">What they did</a></p>
<h2>What they hold</h2>${holdings(found)}${await accessOf(needs, visit, id)}${await made(needs, visit, id)}
<h2>What you can do</h2>${isSelf ? html`<p>This is you: what you hold is on the page <a href="/console/account">Your account</a>.</p>` : status(found, button)}${revoking(found, button)}`,
		commands: [
			command`svc users show ${email}`,
			command`svc session list --user ${email}`,
			command`svc token list --user ${email}`,
			command`svc users disable ${email}`,
			command`svc users reset ${email}`,
			command`svc revoke --user ${email}`,
		],
	};
}

function holdings({ sessions, tokens, realms, identities }: Person): Html {
	const linked = identities.map(
		({ provider, issuer, subject, created_at }) =>
			html`<tr><th scope="row">${provider}</th><td data-label="Issuer">${issuer}</td><td data-label="Subject">${subject}</td><td data-label="Since">${time(created_at)}</td></tr>`,
	);
	const identityTable =
		linked.length === 0
			? ""
			: table("Identities that sign in to the account", ["Provider", "Issuer", "Subject", "Since"], linked);
	return html`<ul><li>${counted(sessions, "open session")}</li><li>${counted(tokens, "API token")}</li><li>${counted(realms, "realm")} of their own</li></ul>${identityTable}`;
}

/** Lists what somebody made for others to use in the last 30 days. */
async function made(needs: PersonPageNeeds, { actor }: Visit, id: string): Promise<Html> {
	const { machines, machine_tokens, trusts, invitations } = await listMade(needs, actor, id);
	const lines = [
		...machines.map(({ realm, name, created_at }) => ({ what: `machine ${realm}/${name}`, created_at })),
		...machine_tokens.map(({ machine, prefix, created_at }) => ({
			what: `token ${prefix}… of the machine ${machine}`,
			created_at,
		})),
		...trusts.map(({ machine, name, created_at }) => ({ what: `trust ${name} of the machine ${machine}`, created_at })),
		...invitations.map(({ email, created_at }) => ({ what: `invitation of ${email}`, created_at })),
	];
	const rows = lines.map(
		({ what, created_at }) => html`<tr><th scope="row">${what}</th><td data-label="Made">${time(created_at)}</td></tr>`,
	);
	if (rows.length === 0) return html`<p>Nothing that they made for others in the last 30 days is left.</p>`;
	return table("Made for others in the last 30 days, and still there", ["What", "Made"], rows);
}

const HANDING_ON =
	"Give it to that person alone: anybody who has it becomes this user. It works once, within 24 hours, with `svc reset EMAIL`.";

/** Makes a form that does something to the account. */
type Button = (action: string, label: string) => Html;

/** Offers what changes somebody else's account. */
function status({ email, instance_admin, disabled_at, password, sessions, tokens }: Person, button: Button): Html {
	const dropping = html`<p>For somebody who lost the second factor: the password is then enough to sign in until they add a new one. Recovery codes and sessions end, too.</p>${button("drop-factors", `End the second factors of ${email}`)}`;
	if (disabled_at !== null) return html`${button("enable", `Enable ${email}`)}${dropping}`;
	const resetting =
		password === null
			? html`<p>The account has no password: its owner signs in at a provider.</p>`
			: html`<p>With a reset code, somebody who forgot the password sets a new one. A second factor stays.</p>${button("reset", `Make a reset code for ${email}`)}${dropping}`;
	const admin = instance_admin
		? button("demote", `End being an instance admin: ${email}`)
		: html`<p>An instance admin can do everything that these pages offer, and make others instance admins.</p>${button("promote", `Make ${email} an instance admin`)}`;
	return html`<p>Disabling ends ${counted(sessions, "session")} and suspends ${counted(tokens, "API token")}, until you enable the account again.</p>${button("disable", `Disable ${email}`)}${admin}${resetting}`;
}

function revoking({ email, sessions, tokens }: Person, button: Button): Html {
	return html`<p>Revoking ends ${counted(sessions, "session")}, ${counted(tokens, "API token")}, the credentials of engines that the account holds, and the identities that were linked in the last 30 days. It does not disable the account.</p>${button("revoke", `Revoke what ${email} holds`)}`;
}

/** Actions that give somebody access: a stolen or forgotten window must not. */
const GIVING = new Set(["enable", "promote", "reset", "drop-factors"]);

async function act(needs: PersonPageNeeds, visit: Visit): Promise<Moved> {
	const { actor, params } = visit;
	const action = fieldOf(visit, "action");
	const [who = ""] = params;
	const to = address`/console/people/${who}`;
	const asked = GIVING.has(action) ? await askAgain(needs, visit, to) : undefined;
	if (asked !== undefined) return asked;
	const { id, email, sessions, tokens } = await getUser(needs, actor, who);
	switch (action) {
		case "disable":
			await setDisabled(needs, actor, id, true);
			return {
				to,
				message: `${email} is disabled: ${counted(sessions, "session")} ended, ${counted(tokens, "API token")} suspended.`,
			};
		case "enable":
			await setDisabled(needs, actor, id, false);
			return { to, message: `${email} is enabled. It takes effect immediately.` };
		case "promote":
		case "demote":
			await setAdmin(needs, actor, id, action === "promote");
			return { to, message: `${email} is ${action === "promote" ? "now" : "no longer"} an instance admin.` };
		case "reset": {
			const { code } = await createReset(needs, actor, id);
			keepOnce(visit.notes, needs.system, resetOf(id), code);
			return { to, message: `The reset code for ${email} is made. An earlier one has ended.` };
		}
		case "drop-factors": {
			const { factors_dropped } = await dropFactors(needs, actor, id);
			return {
				to,
				message: `Second factors of ${email} ended: ${factors_dropped}, with the recovery codes and all sessions.`,
			};
		}
		case "revoke":
			return { to, message: await revoke(needs, visit, id, email) };
		default:
			throw new AppError(
				"bad_request",
				"action must be disable, enable, promote, demote, reset, drop-factors or revoke",
			);
	}
}

/** Ends what somebody holds. @returns what has ended */
async function revoke(needs: PersonPageNeeds, { actor }: Visit, user_id: string, email: string): Promise<string> {
	const what = { user_id, realm: undefined, keep_links: false, with_made: false };
	const ended = await revokeAccess(needs, actor, what);
	const counts = [
		counted(ended.sessions, "session"),
		counted(ended.tokens, "API token"),
		counted(ended.identities, "linked identity", "linked identities"),
	];
	return `What ${email} held has ended: ${counts.join(", ")}. Credentials of engines that go within moments: ${ended.leases}.`;
}
