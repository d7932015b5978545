import { type Descriptor, DescriptorError, disagreement, type EngineResponse, parseDescribeData } from "@svc/protocol";

/**
 * Checks an engine's answer to `describe`.
 * @returns the reason why the engine is unusable, or undefined
 * Design: §8
 */
export function faultOfDescribe(
	descriptor: Descriptor,
	response: EngineResponse,
	core_version: string,
): string | undefined {
	if ("error" in response) return "it answered describe with an error";
	try {
		const said = parseDescribeData(response.data);
		return disagreement(descriptor, said) ?? faultOfVersion(said.min_core_version, core_version);
	} catch (error) {
		if (error instanceof DescriptorError) return error.message;
		throw error;
	}
}

/** Explains why an engine that needs this version or a newer one is unusable, else returns undefined. It compares the versions' three numbers. */
export function faultOfVersion(min_core_version: string | undefined, core_version: string): string | undefined {
	if (min_core_version === undefined) return undefined;
	const numbers = (version: string) => version.split(/[-+]/, 1).join().split(".").map(Number);
	const ours = numbers(core_version);
	for (const [index, needed] of numbers(min_core_version).entries()) {
		const difference = (ours[index] ?? 0) - needed;
		if (difference > 0) return undefined;
		if (difference < 0) return `it needs svc ${min_core_version} or newer; this is ${core_version}`;
	}
	return undefined;
}
