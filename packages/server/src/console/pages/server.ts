import type { DoctorNeeds } from "../../doctor/doctor.ts";
import type { KeyNeeds } from "../../keys/keys.ts";
import type { Endpoint } from "../page.ts";
import { type BackupPageNeeds, backupsPage } from "./backups.ts";
import type { AskAgainNeeds } from "./confirm.ts";
import { doctorPage } from "./doctor.ts";
import { type EnginePageNeeds, enginePage } from "./engine.ts";
import { enginesPage } from "./engines.ts";
import { type HealthPageNeeds, healthPage } from "./health.ts";
import { keysPage } from "./keys.ts";
import { type LimitPageNeeds, limitsPage } from "./limits.ts";
import { peoplePage } from "./people.ts";
import { type PersonPageNeeds, personPage } from "./person.ts";
import { personAccessPages } from "./person-access.ts";
import { type ProviderPageNeeds, providerPage } from "./provider.ts";
import { providersPage } from "./providers.ts";

/** Dependencies of the pages of the server. */
export type ServerPageNeeds = HealthPageNeeds &
	LimitPageNeeds &
	EnginePageNeeds &
	ProviderPageNeeds &
	PersonPageNeeds & { server: { doctor: DoctorNeeds; backups: BackupPageNeeds; keys: KeyNeeds & AskAgainNeeds } };

/** The pages of the server: Health for everybody, the others for the instance admin. */
export function serverPages(needs: ServerPageNeeds): Endpoint[] {
	const { doctor, backups, keys } = needs.server;
	const ofAdmin = [...doctorPage(doctor), ...backupsPage(backups), ...keysPage(keys)];
	const ofEngines = [...enginesPage(needs), ...enginePage(needs)];
	const ofProviders = [...providersPage(needs), ...providerPage(needs)];
	return [
		...healthPage(needs),
		...ofAdmin,
		...ofEngines,
		...ofProviders,
		...limitsPage(needs),
		...peoplePage(needs),
		...personPage(needs),
		...personAccessPages(needs),
	];
}
