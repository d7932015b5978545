import { spawn } from "node:child_process";
import { platform } from "node:os";
import { environmentFor } from "../io/environment.ts";
import { type Io, isInteractive, setting } from "../io/io.ts";

/** Opens an address in the browser of the person at the terminal. Does nothing where there is none, or it does not open. */
export function openBrowser(io: Io, address: string): void {
	const opener = isInteractive(io) ? openerOf(io) : undefined;
	if (opener === undefined) return;
	const child = spawn(opener, [address], { detached: true, stdio: "ignore", env: environmentFor(io, []) });
	child.on("error", () => {});
	child.unref();
}

/** This system's program for opening an address; none where it would open on a screen that nobody watches. */
function openerOf(io: Io): string | undefined {
	if (platform() === "darwin") return setting(io, "SSH_CONNECTION") === undefined ? "open" : undefined;
	const screen = setting(io, "DISPLAY") ?? setting(io, "WAYLAND_DISPLAY");
	return screen === undefined ? undefined : "xdg-open";
}
