// biome-ignore-start lint/performance/noBarrelFile: the package's only door, an explicit list
export {
	type DescribeData,
	Descriptor,
	DescriptorError,
	describeData,
	disagreement,
	type EngineCapability,
	engineCapabilities,
	MAX_DESCRIPTOR_BYTES,
	parseDescribeData,
	parseDescriptor,
	SDK_VERSION,
} from "./descriptor.ts";
export { DurationError, formatDuration, parseDuration } from "./duration.ts";
export {
	type EngineRequest,
	type EngineResponse,
	type Fields,
	isObject,
	MASK,
	MAX_ERROR_BYTES,
	MAX_REQUEST_BYTES,
	MAX_RESPONSE_BYTES,
	METHODS,
	type Method,
	ProtocolViolation,
	readRequest,
	readResponse,
	writeRequest,
	writeResponse,
} from "./envelope.ts";
export { JsonError, parseJson, parseJsonInSteps } from "./json.ts";
export { type LineListener, splitLines } from "./lines.ts";
// biome-ignore-end lint/performance/noBarrelFile: the package's only door, an explicit list
