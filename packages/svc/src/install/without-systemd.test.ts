import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { runCli } from "@svc/cli";
import { fakeIo } from "../../../cli/src/testing/terminal.ts";
import { removalSteps } from "../commands/uninstall.ts";
import { LOCAL_COMMANDS } from "../local-commands.ts";
import { layoutOf } from "./layout.ts";

async function planned(...more: string[]): Promise<string> {
	const { io, outcome } = fakeIo({});
	const words = ["install", "--dry-run", "--program", process.execPath, ...more];
	return (await outcome(await runCli(words, io, LOCAL_COMMANDS))).stdout;
}

test("svc install --no-start enables the service, and notifies systemd only where it runs", async () => {
	const steps = await planned("--no-start");
	assert.match(steps, /^run systemctl enable svc\.service$/m);
	assert.equal(steps.includes("systemctl daemon-reload"), existsSync("/run/systemd/system"));
	assert.match(await planned(), /^run systemctl daemon-reload\n.*enable svc\.service\n.*restart svc\.service$/m);
});

test("svc uninstall disables the service, and stops it only where systemd runs", () => {
	const layout = layoutOf({ prefix: "/usr/local", user: "svc" });
	const commands = (live: boolean) =>
		removalSteps(layout, live).flatMap((step) => (step.do === "run" ? [step.command.join(" ")] : []));
	assert.deepEqual(commands(false), ["systemctl disable svc.service"]);
	assert.deepEqual(commands(true), ["systemctl disable --now svc.service", "systemctl daemon-reload"]);
});
