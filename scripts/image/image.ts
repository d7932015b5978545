import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Build } from "../../packages/server/src/health/build.ts";
import type { Executable } from "../binary/executable.ts";
import { runTool } from "../binary/tool.ts";
import { BINARY, DATA, fillRoot, USER } from "./root.ts";

/** Names of Node's architectures in images. */
const ARCHITECTURE: Record<string, string> = { x64: "amd64", arm64: "arm64" };

const SECOND_NS = 1e9;

const MEDIA = {
	manifest: "application/vnd.oci.image.manifest.v1+json",
	config: "application/vnd.oci.image.config.v1+json",
	layer: "application/vnd.oci.image.layer.v1.tar+gzip",
};

/** A finished image. */
interface Image {
	/** The archive. */
	file: string;
	/** Digest of its manifest, such as `sha256:…`: the same for the same commit on a machine with the same libraries. */
	digest: string;
}

/** A part of the image, as its parents name it. */
interface Descriptor {
	mediaType: string;
	digest: string;
	size: number;
}

/**
 * Packs the single binary into an image with one layer.
 * @param folder for the archive
 * @throws Error naming what is missing
 * https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 */
export function makeImage(executable: Executable, build: Build, folder: string): Image {
	const scratch = mkdtempSync(join(folder, ".image-"));
	try {
		const time = new Date(Number.isNaN(Date.parse(build.built)) ? 0 : build.built);
		const layer = makeLayer(executable, scratch, time);
		const layout = join(scratch, "layout");
		mkdirSync(join(layout, "blobs/sha256"), { recursive: true });
		const store = (mediaType: string, content: Buffer): Descriptor => {
			const hash = sha256(content);
			writeFileSync(join(layout, "blobs/sha256", hash), content);
			return { mediaType, digest: `sha256:${hash}`, size: content.length };
		};
		const storeJson = (mediaType: string, value: object) => store(mediaType, Buffer.from(JSON.stringify(value)));
		const config = storeJson(MEDIA.config, configOf(build, time, `sha256:${sha256(layer)}`));
		const layers = [store(MEDIA.layer, gzipSync(layer, { level: 9 }))];
		const manifest = storeJson(MEDIA.manifest, { schemaVersion: 2, mediaType: MEDIA.manifest, config, layers });
		const files = {
			"oci-layout": { imageLayoutVersion: "1.0.0" },
			...indexes(`svc:${build.version}`, manifest, config, layers),
		};
		for (const [name, content] of Object.entries(files)) writeFileSync(join(layout, name), JSON.stringify(content));
		const file = join(folder, `${executable.name}-oci.tar`);
		runTool("tar", [...alike(time, 0), "-C", layout, "-cf", file, "blobs", ...Object.keys(files)]);
		return { file, digest: manifest.digest };
	} finally {
		rmSync(scratch, { recursive: true, force: true });
	}
}

/** The index of an OCI archive, and the one that `docker load` reads. containerd takes the image's name from an annotation of its own. */
function indexes(name: string, manifest: Descriptor, config: Descriptor, layers: Descriptor[]): Record<string, object> {
	const annotations = {
		"org.opencontainers.image.ref.name": name,
		"io.containerd.image.name": `docker.io/library/${name}`,
	};
	const blobOf = ({ digest }: Descriptor) => `blobs/${digest.replace(":", "/")}`;
	return {
		"index.json": { schemaVersion: 2, manifests: [{ ...manifest, annotations }] },
		"manifest.json": [{ Config: blobOf(config), RepoTags: [name], Layers: layers.map(blobOf) }],
	};
}

/** The layer, before it is compressed. */
function makeLayer(executable: Executable, scratch: string, time: Date): Buffer {
	const root = join(scratch, "root");
	fillRoot(executable, root);
	const layer = join(scratch, "layer.tar");
	runTool("tar", [...alike(time, 0), "-C", root, "-cf", layer, "."]);
	const data = join(scratch, "data");
	mkdirSync(join(data, DATA), { recursive: true });
	runTool("tar", [...alike(time, USER), "--mode=0700", "-C", data, "-rf", layer, `.${DATA}`]);
	return readFileSync(layer);
}

/** Options with which the same files make the same archive on every machine. */
function alike(time: Date, owner: number): string[] {
	return [
		"--sort=name",
		"--numeric-owner",
		`--owner=${owner}`,
		`--group=${owner}`,
		`--mtime=${time.toISOString()}`,
		"--format=gnu",
	];
}

/** `Healthcheck` is an extension of Docker's, which other programs pass over. */
function configOf({ version, commit }: Build, time: Date, layer: string): object {
	return {
		created: time.toISOString(),
		architecture: ARCHITECTURE[process.arch],
		os: "linux",
		config: {
			User: `${USER}:${USER}`,
			ExposedPorts: { "8443/tcp": {} },
			Env: [
				"PATH=/usr/local/bin",
				`SVC_DATA_DIR=${DATA}`,
				"SVC_LISTEN=0.0.0.0:8443",
				"SVC_REGISTRATION_MODE=admin",
				`SVC_CACERT=${DATA}/tls.crt`,
				// Nothing in the image says where localhost is.
				"SVC_ADDRESS=https://127.0.0.1:8443",
			],
			Entrypoint: [BINARY],
			Cmd: ["server"],
			Volumes: { [DATA]: {} },
			WorkingDir: DATA,
			StopSignal: "SIGTERM",
			Healthcheck: {
				Test: ["CMD", BINARY, "status"],
				Interval: 30 * SECOND_NS,
				Timeout: 10 * SECOND_NS,
				StartPeriod: 30 * SECOND_NS,
			},
			Labels: {
				"org.opencontainers.image.title": "svc",
				"org.opencontainers.image.description": "A self-hosted secrets management server",
				"org.opencontainers.image.licenses": "Apache-2.0",
				"org.opencontainers.image.version": version,
				"org.opencontainers.image.revision": commit,
			},
		},
		rootfs: { type: "layers", diff_ids: [layer] },
	};
}

function sha256(content: Buffer): string {
	return createHash("sha256").update(content).digest("hex");
}
