import type { Descriptor, Fields } from "@svc/protocol";
import type { RealmStore } from "../../realms/model.ts";
import type { System } from "../../system.ts";
import type { ConfigSealer } from "../config/sealed-config.ts";
import type { EngineStore } from "../model.ts";
import type { Call, Connector } from "./connector.ts";

/** Variables of a process. */
export type Environment = Readonly<Record<string, string>>;

/** What connecting to a target needs. */
export interface ConnectNeeds {
	/** The configuration. */
	fields: Fields;
	descriptor: Descriptor;
	system: Pick<System, "now" | "randomBytes">;
	/** Asks the engine's process. */
	call: Call;
}

/** What a part of each realm's own is made and kept with. */
export interface RealmPartNeeds {
	store: { engines: EngineStore; realms: Pick<RealmStore, "named"> };
	system: System;
	sealer: ConfigSealer;
}

/** A part of the configuration that the server makes for each realm for which nobody gave one, and keeps sealed. */
interface RealmPart {
	/** Whether it is given to the engine's processes. */
	isGiven(environment: Environment): boolean;
	/** Params that go with each request in its place; undefined when the realm is gone. */
	paramsOf(needs: RealmPartNeeds, realm_id: string, fields: Fields): Promise<Fields | undefined>;
	/** Says of realms that share one, from before each had its own, what that means. */
	shared: string;
}

/**
 * A kind of engine: everything that the core does for engines of one type alone. Only what differs is given; an engine that makes
 * credentials needs `connect`.
 */
export interface Kind {
	/** plugin.json, of a kind that has no program: the core does all of its work. Else the program's own holds. */
	descriptor?: object;

	/** Makes the way to the target of a configuration; nothing need be connected yet. Drivers are imported here, so that only who needs one loads it. */
	connect?(needs: ConnectNeeds): Promise<Connector | undefined>;
	/** Keeps a request within the configuration, and fills in what it leaves out. @throws AppError validation_failed */
	confine?(fields: Fields, params: Fields): { params: Fields; scope: string };
	/** Names the system that a configuration leads to: a new password or limit is still the same one. Otherwise all open fields are its name. */
	address?(fields: Fields, environment: Environment): string;

	/** Fields that the core adds to config_schema, in JSON Schema. */
	fields?: Readonly<Record<string, object>>;
	/** Fields that say where secrets are sent: when one changes, a masked secret has to be given again. Every field when it is left out. */
	destination?: readonly string[];
	/** Completes a configuration. @param environment variables for engines that the server was started with */
	complete?(fields: Fields, environment: Environment): Fields;
	/** Warns of a configuration, behind its status; empty when there is nothing to say. */
	warning?(fields: Fields): string;

	/** Variables of the server that the process gets. They can take the place of a configuration. */
	variables?: RegExp;
	/**
	 * The environment of the process; `server` and `configured` together when it is left out.
	 * @param server the server's own variables
	 * @param configured those that config_schema names
	 * @param is_served whether what the server's variables lead to is for the realm
	 */
	environment?(server: Environment, configured: Environment, is_served: boolean): Environment;
	/** Files or folders that the process may read. */
	reads?(environment: Environment): readonly string[];
	/** The field of an answer in which the engine says what the core is to run at the target. */
	command?: string;
	realmPart?: RealmPart;

	/** Whether every member of a realm may use it, whatever its roles. */
	isForEveryMember?: true;
	/** Whether a request has to name a role: otherwise the first of default_roles is meant. */
	requiresRole?: true;
}

/** The kinds that the core knows. */
export interface Kinds {
	/** The kind of an engine: a third party's, when it does not come with the server. */
	of(engine: { type: string; is_built_in: boolean }): Kind;
	/** Every `command`. */
	readonly commands: readonly string[];
}
