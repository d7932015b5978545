/*
 * Installs the packages before `npm start` and others. A terminal sees a line that goes away; nothing else does. JavaScript, because an older Node may
 * run it: that of the repository comes with the packages.
 */
import { spawn } from "node:child_process";
import process from "node:process";

const COMMAND = ["-y", "pnpm@12.21.0", "install", "--frozen-lockfile", "--silent"];
/** Milliseconds before the line appears: with everything in place, the command takes less. */
const PATIENCE_MS = 1500;

const isShown = process.stderr.isTTY === true;
const started = performance.now();
const draw = (text) => void process.stderr.write(`\r\u001b[K${text}`);
const timer = isShown && setInterval(drawTime, 500);

const installing = spawn("npx", COMMAND, { stdio: ["inherit", "pipe", "pipe"] });
let said = "";
for (const stream of [installing.stdout, installing.stderr])
	stream.setEncoding("utf8").on("data", (text) => {
		said += text;
	});
installing.on("error", (error) => end(error.message, 1));
installing.on("close", (code) => end(said, code ?? 1));

function drawTime() {
	const ms = performance.now() - started;
	if (ms >= PATIENCE_MS) draw(`installing packages, ${Math.floor(ms / 1000)} s`);
}

function end(text, code) {
	clearInterval(timer);
	if (isShown) draw("");
	if (code !== 0) process.stderr.write(text);
	process.exitCode = code;
}
