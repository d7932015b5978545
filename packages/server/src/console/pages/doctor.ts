import { type DoctorNeeds, examine } from "../../doctor/doctor.ts";
import type { Check } from "../../doctor/model.ts";
import { command } from "../command.ts";
import { type Address, address, type Html, html } from "../html.ts";
import type { Endpoint, Link, Page, Visit } from "../page.ts";
import { counted, table } from "./components.ts";
import { ofServer } from "./server-frame.ts";

/** The doctor's findings, for the instance admin. It changes nothing. */
export function doctorPage(needs: DoctorNeeds): Endpoint[] {
	return [{ method: "GET", path: /^\/console\/doctor$/, answer: (visit) => doctor(needs, visit) }];
}

const RANK = { failed: 0, warning: 1, ok: 2 } as const;
const CLASSES = { failed: "bad", warning: "warn", ok: "" } as const;

/** Pages on which a finding is mended, or explained, by the name of its check. */
const MENDED_ON: Readonly<Partial<Record<string, Link>>> = {
	audit: ["The audit log's chain", address`/console/chain`],
	backup: ["Make a backup", address`/console/backups`],
	engines: ["Engines", address`/console/engines`],
	leases: ["Leases", address`/console/leases`],
	limits: ["Limits", address`/console/limits`],
	master_key: ["Keys", address`/console/keys`],
	passkeys: ["Second factor", address`/console/account/factors`],
	rights: ["The audit log's chain", address`/console/chain`],
	sso: ["Providers", address`/console/providers`],
};

async function doctor(needs: DoctorNeeds, { actor }: Visit): Promise<Page> {
	const checks = (await examine(needs, actor, false)).toSorted((a, b) => RANK[a.status] - RANK[b.status]);
	const engines = needs.host.state().map(({ type }) => type);
	const rows = checks.map((check) => line(check, engines));
	return {
		...ofServer("Doctor", actor),
		title: "Doctor",
		body: html`<p>${verdictOf(checks)}</p>${table("Findings, the worst first", ["Check", "State", "Finding", "What to do"], rows)}`,
		commands: [command`svc doctor`, command`svc doctor --deep`],
	};
}

/** Says in a sentence what the doctor found. */
export function verdictOf(checks: readonly Pick<Check, "status">[]): Html {
	const [failed, warnings] = (["failed", "warning"] as const).map(
		(state) => checks.filter(({ status }) => status === state).length,
	) as [number, number];
	if (failed > 0)
		return html`<strong class="bad">The doctor found ${counted(failed, "problem")} that somebody has to act on</strong>, and ${counted(warnings, "warning")}.`;
	if (warnings > 0)
		return html`<strong class="warn">The doctor found ${counted(warnings, "warning")}</strong>, and no problem.`;
	return html`<strong>The doctor found no problem.</strong>`;
}

function line({ name, status, message, hint }: Check, engines: readonly string[]): Html {
	const page = status === "ok" ? undefined : pageOf(name, engines);
	const link = page === undefined ? "" : html`<p class="about"><a href="${page[1]}">${page[0]}</a></p>`;
	return html`<tr><th scope="row" class="type">${name.replaceAll("_", " ")}</th><td data-label="State" class="type ${CLASSES[status]}">${status}</td><td data-label="Finding">${message}</td><td data-label="What to do">${hint}${link}</td></tr>`;
}

/** Finds the page on which a finding is mended. An engine's checks begin with its name. */
function pageOf(name: string, engines: readonly string[]): Link | undefined {
	const engine = engines.find((type) => name === type || name.startsWith(`${type} of realm `));
	const to: Address | undefined = engine === undefined ? undefined : address`/console/engines/${engine}`;
	return to === undefined ? MENDED_ON[name] : [`Engine ${engine}`, to];
}
