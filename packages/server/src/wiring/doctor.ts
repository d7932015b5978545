import { join } from "node:path";
import { createFindings } from "../doctor/findings.ts";
import { createFormerRealmsCheck } from "../engines/config/former-realms.ts";
import { createTargetQuestions } from "../engines/targets.ts";
import { createPasskeysCheck } from "../factors/passkey-hosts.ts";
import { findTlsFiles } from "../http/certificate.ts";
import { TLS_FILES } from "../http/tls-files.ts";
import { createSemaphore } from "../semaphore.ts";
import { createMappingsCheck } from "../sso/former-mappings.ts";
import { checkDataDirectory, DATABASE_FILES } from "../store/sqlite/files.ts";
import { openSnapshot } from "../store/sqlite/snapshots.ts";
import type { AppParts } from "./app-parts.ts";
import { createOpeners } from "./backups.ts";
import { openNetworkedDatabase } from "./networked-doctor.ts";

/** Gathers what the doctor examines from the components of the running server. */
export function wireDoctor(
	needs: Pick<
		AppParts,
		"config" | "store" | "system" | "keyring" | "log" | "master" | "engines" | "backups" | "limits" | "address"
	>,
) {
	const { config, store, system, keyring, log, master, engines, backups, limits, address } = needs;
	const { data_dir, engine_environment } = config;
	const is_networked = config.database !== undefined;
	return {
		config,
		data_dir,
		master,
		limits,
		findings: createFindings(),
		tls_files: findTlsFiles(config),
		clock: engines.clock,
		host: engines.host,
		reaper: engines.reaper,
		askTargets: createTargetQuestions({ ...engines, store, engine_environment }),
		checkFormerRealms: createFormerRealmsCheck({ ...engines, store }),
		checkMappings: createMappingsCheck({ store, keyring }),
		address,
		checkPasskeys: createPasskeysCheck({ store, address }),
		checkDataDirectory: () => checkDataDirectory(data_dir, [...DATABASE_FILES, ...TLS_FILES]),
		newestBackupAt: backups.newestAt,
		oneAtATime: createSemaphore(1).run,
		openers: createOpeners(keyring, system),
		log,
		is_networked,
		isSuperuser: store.isSuperuser,
		storeState: store.state,
		durability: store.durability,
		openDatabase: () =>
			is_networked ? openNetworkedDatabase(store, data_dir) : openSnapshot(join(data_dir, "svc.db")),
	};
}
