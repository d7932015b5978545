import type { Descriptor, Fields } from "@svc/protocol";
import type { EventData } from "../../audit/model.ts";
import type { RealmStore } from "../../realms/model.ts";
import type { System } from "../../system.ts";
import type { ConfigSealer } from "../config/sealed-config.ts";
import type { EngineStore } from "../model.ts";
import type { Ask, Call, Connector } from "./connector.ts";

/** Variables of a process. */
export type Environment = Readonly<Record<string, string>>;

/** Dependencies of connecting to a target. */
export interface ConnectNeeds {
	/** The configuration. */
	fields: Fields;
	descriptor: Descriptor;
	system: Pick<System, "now" | "randomBytes">;
	call: Call;
	ask: Ask;
}

/** Dependencies of making and keeping a part of each realm's own. */
export interface RealmPartNeeds {
	store: { engines: EngineStore; realms: Pick<RealmStore, "named"> };
	system: System;
	sealer: ConfigSealer;
}

/** A part of the configuration that the server makes for each realm without one, and keeps sealed. */
interface RealmPart {
	/** Tells whether the environment gives it to the engine's processes. */
	isGiven(environment: Environment): boolean;
	/** Makes the params that replace it in each request; undefined when the realm is gone. */
	paramsOf(needs: RealmPartNeeds, realm_id: string, fields: Fields): Promise<Fields | undefined>;
	/** Text that explains what sharing one means, for realms that did so before each had its own. */
	shared: string;
}

/**
 * A kind of engine: everything that the core does for engines of one type alone. All members are optional, but an engine that makes
 * credentials needs `connect`.
 */
export interface Kind {
	/** plugin.json of a kind without a program, whose work the core does. With a program, the program's own counts. */
	descriptor?: object;

	/** Makes the connector of a configuration; it need not connect yet. Import drivers here, so that only servers that need one load it. */
	connect?(needs: ConnectNeeds): Promise<Connector | undefined>;
	/** Confines a request to the configuration, and completes it. @throws AppError validation_failed */
	confine?(fields: Fields, params: Fields): { params: Fields; scope: string };
	/** Names the system that a configuration leads to: a new password or limit does not change it. By default all open fields are its name. */
	address?(fields: Fields, environment: Environment): string;

	/** Fields that the core adds to config_schema, in JSON Schema. */
	fields?: Readonly<Record<string, object>>;
	/** Fields that name the destination of secrets: when one changes, you must give a masked secret again. By default, every field. */
	destination?: readonly string[];
	/** Completes a configuration. @param environment variables for engines with which the server was started */
	complete?(fields: Fields, environment: Environment): Fields;
	/** Makes a warning to follow a configuration's status; empty for none. */
	warning?(fields: Fields): string;

	/** Variables of the server that the process gets. They can replace a configuration. */
	variables?: RegExp;
	/**
	 * Builds the environment of the process; by default `server` and `configured` together.
	 * @param server the server's own variables
	 * @param configured those that config_schema names
	 * @param is_served whether the realm may use the target of the server's variables
	 */
	environment?(server: Environment, configured: Environment, is_served: boolean): Environment;
	/** Lists files or folders that the process may read. */
	reads?(environment: Environment): readonly string[];
	/** Field of an answer with the command for the core to run at the target. */
	command?: string;
	realmPart?: RealmPart;

	/** Selects what the log records of a value that the engine made: never a secret. */
	facts?(data: Fields): EventData;

	/** Set if every member of a realm may use it, whatever its roles. */
	isForEveryMember?: true;
	/** Set if a request must name a role: otherwise the first of default_roles applies. */
	requiresRole?: true;
}

/** Finds the kind of an engine: a third party's when it does not come with the server. */
export type KindOf = (type: string, is_built_in: boolean) => Kind;
