import { type Attack, scaled, sourceOf, type Target } from "../attack.ts";
import { type Crowd, keepStanding, openPlain, openSecure } from "../connection.ts";

/** The beginning of a ClientHello of 512 bytes, without the rest. */
const HALF_A_HELLO = Buffer.from("16030102000100", "hex");

function crowd(name: string, title: string, of: (target: Target) => Crowd): Attack {
	return { name, title, isCutOff: true, run: (target, counts, over) => keepStanding(of(target), counts, over) };
}

/** Connections that fall silent, at each place where they can. */
export const SILENCE: readonly Attack[] = [
	crowd("silent-plain", "4,000 connections that send nothing", (target) => ({
		standing: scaled(target, 4000),
		perTick: 40,
		open: () => openPlain(target, sourceOf(target, 0)),
	})),
	crowd("silent-many", "8,000 connections from 40 sources that send nothing", (target) => ({
		standing: scaled(target, 8000),
		perTick: 100,
		open: (at) => openPlain(target, sourceOf(target, at % 40)),
	})),
	crowd("half-handshake", "1,000 connections that stop in the handshake", (target) => ({
		standing: scaled(target, 1000),
		perTick: 20,
		open: () => {
			const socket = openPlain(target, sourceOf(target, 0));
			socket.once("connect", () => socket.write(HALF_A_HELLO));
			return socket;
		},
	})),
	crowd("after-handshake", "1,000 connections that send nothing after the handshake", (target) => ({
		standing: scaled(target, 1000),
		perTick: 10,
		open: () => openSecure(target, sourceOf(target, 0)),
	})),
];
