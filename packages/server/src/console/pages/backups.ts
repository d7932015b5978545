import { type BackupNeeds, createBackup, listBackups } from "../../backups/backups.ts";
import type { MasterKeySource } from "../../keys/keys.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { table, time } from "./components.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of backups. */
export type BackupPageNeeds = BackupNeeds & { master: Pick<MasterKeySource, "origin" | "file"> };

const PATH = /^\/console\/backups$/;

/** The server's backups, and a button that makes another one, for the instance admin. */
export function backupsPage(needs: BackupPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => backups(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => make(needs, visit) },
	];
}

const MIB = 2 ** 20;

async function backups(needs: BackupPageNeeds, { actor, token }: Visit): Promise<Page> {
	const found = await listBackups(needs, actor);
	const newest = found[0]?.name ?? "NAME";
	const rows = found.map(
		({ name, created_at, bytes, events }) =>
			html`<tr><th scope="row" class="key">${name}</th><td data-label="Made">${time(created_at)}</td><td data-label="Size">${(bytes / MIB).toFixed(1)} MiB</td><td data-label="Events">${events}</td></tr>`,
	);
	const list =
		rows.length === 0
			? html`<p>No backup yet. A backup is a verified copy of the database, without the master key.</p>`
			: table("Backups on the server, newest first", ["Name", "Made", "Size", "Events"], rows);
	const { directory, keep } = needs.folder;
	return {
		...ofServer("Backups", actor),
		title: "Backups",
		body: html`${list}<form method="post" action="/console/backups">${token}<p><button>Make a backup</button></p></form>
<h2>Where they are</h2><p>In the folder <code>${directory}</code> on the server's machine${needs.node === undefined ? "" : html` <code>${needs.node}</code>`}. The last ${keep} stay. Copy them to another machine: a backup on the disk that fails is none.</p>
<h2>The master key</h2><p>No backup contains it, and nobody can open one without it. ${whereKeyIs(needs.master)} Keep a copy away from the backups.</p>
<h2>Restore one</h2><p>On the server's machine, as the user that runs the server: stop the server, run the command below, and start it again. A damaged backup changes nothing. Everybody signs in again afterwards; what was changed since the backup is as it was then.</p>`,
		commands: [
			command`svc backup`,
			command`svc backup list`,
			command`svc backup download ${newest} --output svc.db`,
			command`svc restore ${`${directory}/${newest}`} --replace`,
		],
	};
}

/** Says where the master key is. */
function whereKeyIs({ origin, file }: Pick<MasterKeySource, "origin" | "file">): Html {
	if (origin === "environment") return html`It comes from the variable <code>SVC_MASTER_KEY</code> of the server.`;
	if (file === undefined) return html`It is a systemd credential.`;
	return origin === "credential"
		? html`It is the systemd credential <code>${file}</code>.`
		: html`It is the file <code>${file}</code>.`;
}

async function make(needs: BackupNeeds, { actor }: Visit): Promise<Moved> {
	const { name } = await createBackup(needs, actor);
	return { to: address`/console/backups`, message: `The backup ${name} is made and verified.` };
}
