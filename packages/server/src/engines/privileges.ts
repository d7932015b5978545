import { engineCapabilities } from "@svc/protocol";
import * as v from "valibot";
import type { Check } from "../doctor/model.ts";
import { AppError } from "../errors.ts";
import { statusOf } from "./config/config.ts";
import { allowedNames } from "./config/fields.ts";
import { EngineUnavailable } from "./host/model.ts";
import { type Privilege, TargetError } from "./kinds/connector.ts";
import type { EngineStore } from "./model.ts";
import type { ReadyEngine } from "./ready.ts";
import { troubleOf } from "./removal.ts";
import type { Runtime } from "./runtime.ts";

interface QuestionNeeds {
	store: { engines: Pick<EngineStore, "configs"> };
	runtime: Pick<Runtime, "withRow" | "forRealm">;
	/** Variables for engines that the server was started with. */
	engine_environment: Readonly<Record<string, string>>;
}

const WITHOUT_CONFIGURATION = "containerorch";

/**
 * Makes the function that finds every configuration that holds now, each as a question: whether engine and target work, and whether the rights
 * are there that the engine needs at its target. Only questions that change nothing are asked.
 * Design: §8
 */
export function createTargetQuestions({ store, runtime, engine_environment }: QuestionNeeds) {
	return async (): Promise<(() => Promise<Check[]>)[]> => {
		const rows = (await store.engines.configs()).filter(({ state }) => state === "active");
		const questions = rows.map((row) => {
			const name = row.realm_id === "" ? row.engine : `${row.engine} of realm ${row.realm_id}`;
			return () => ask(name, row.engine, () => runtime.withRow(row));
		});
		const isShared = rows.some(({ engine, realm_id }) => engine === WITHOUT_CONFIGURATION && realm_id === "");
		if (isShared || !Object.keys(engine_environment).some((name) => /^(SVC_ORCH|KUBERNETES)_/.test(name)))
			return questions;
		return [
			...questions,
			() => ask(WITHOUT_CONFIGURATION, WITHOUT_CONFIGURATION, () => runtime.forRealm(WITHOUT_CONFIGURATION, "")),
		];
	};
}

async function ask(name: string, type: string, open: () => Promise<ReadyEngine>): Promise<Check[]> {
	const failed = (message: string, hint: string): Check => ({ name, status: "failed", message, hint });
	try {
		const engine = await open();
		const { status, message } = await statusOf(engine);
		if (status === "unhealthy") return [failed(message, `\`svc engine show ${type}\` shows what it is told`)];
		return toChecks(name, await privilegesOf(engine));
	} catch (error) {
		const isKnown = error instanceof TargetError || error instanceof EngineUnavailable || error instanceof AppError;
		if (!isKnown) throw error;
		return [failed(error.message, `\`svc engine ping ${type}\` asks again`)];
	}
}

function toChecks(name: string, privileges: readonly Privilege[]): Check[] {
	const checks = privileges.flatMap(({ name: right, status, message, hint }): Check[] => {
		if (status === "granted") return [];
		return [{ name, status: status === "missing" ? "failed" : "warning", message: `${right}: ${message}`, hint }];
	});
	const granted = privileges.filter(({ status }) => status === "granted").length;
	const all = granted === 0 ? "it works" : `it works, and may do all ${granted} things that it needs at its target`;
	return checks.length > 0 ? checks : [{ name, status: "ok", message: all, hint: "" }];
}

const Shown = v.pipe(v.string(), v.maxLength(500));

/** What an engine says of its rights. packages/protocol/README.md › Privileges */
const Privileges = v.pipe(
	v.array(
		v.object({
			name: Shown,
			status: v.picklist(["granted", "missing", "doubtful"]),
			message: Shown,
			hint: Shown,
		}),
	),
	v.maxLength(1000),
);

/** What the engine needs at its target; empty when nothing can be told. @throws TargetError, EngineUnavailable */
async function privilegesOf(engine: ReadyEngine): Promise<Privilege[]> {
	const { fields } = engine.config;
	if (engine.connector !== undefined) return engine.connector.privileges(allowedNames(fields, "allowed_databases"));
	if (!engineCapabilities(engine.entry.descriptor).includes("privileges")) return [];
	const answer = await engine.call("privileges", { places: allowedNames(fields, "allowed_namespaces") });
	if ("error" in answer) throw troubleOf(answer.error);
	const { success, output } = v.safeParse(Privileges, answer.data.privileges);
	if (!success) throw new EngineUnavailable("its privileges are not what the contract asks for", false);
	return output;
}
