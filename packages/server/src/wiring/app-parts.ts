import type { SetupCode } from "../accounts/setup-code.ts";
import type { Config } from "../config.ts";
import type { Keyring } from "../crypto/keyring.ts";
import type { Build } from "../health/build.ts";
import type { ConnectionMetricsNeeds } from "../health/connection-metrics.ts";
import type { MasterKeySource } from "../keys/keys.ts";
import type { RowRenewal } from "../keys/row-renewal.ts";
import type { Limits } from "../limits.ts";
import type { Log } from "../log.ts";
import type { Protocols } from "../sso/protocols.ts";
import type { Store } from "../store/store.ts";
import type { System } from "../system.ts";
import type { wireBackups } from "./backups.ts";
import type { Engines } from "./engines.ts";

/** Dependencies of the app. */
export interface AppParts {
	config: Config;
	store: Store;
	keyring: Keyring;
	master: MasterKeySource;
	renewal: RowRenewal;
	system: System;
	/** Era of the store: what was made in another one is void. */
	era: string;
	log: Log;
	build: Build;
	engines: Engines;
	backups: ReturnType<typeof wireBackups>;
	protocols: Protocols;
	setup_code: SetupCode;
	connections: ConnectionMetricsNeeds;
	/** Each part that enforces a limit adds it here. */
	limits: Limits;
	/** Address that browsers reach the server at, known once it listens. */
	address(): string;
	isStopping(): boolean;
	/** Tells whether another program altered the database, so that nothing in it is believed. */
	isAltered(): boolean;
	/** Tells whether no alteration of it was found. */
	isSound(): boolean;
	/** Tells whether a look has found that no row is missing. */
	isComplete(): Promise<boolean>;
}
