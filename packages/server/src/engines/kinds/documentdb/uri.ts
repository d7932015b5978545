/** Parts of a connection string, without the login. */
interface Parts {
	scheme: string;
	hosts: string[];
	options: string[];
}

const CONNECTION_URI = /^(mongodb(?:\+srv)?):\/\/(?:[^@]*@)?([^/?#@]+)(?:\/[^?#]*)?(?:\?([^#]*))?(?:#.*)?$/s;

/**
 * Options of the admin's connection string that suit every client of the same server. Options for logging in, options that name files or a
 * proxy of this server, and unknown options are not passed on.
 * https://github.com/mongodb/specifications/blob/master/source/uri-options/uri-options.md
 */
const SHARED_OPTIONS = new Set(
	`appName compressors connectTimeoutMS directConnection heartbeatFrequencyMS journal loadBalanced localThresholdMS maxConnecting
	maxIdleTimeMS maxPoolSize maxStalenessSeconds minPoolSize readConcernLevel readPreference readPreferenceTags replicaSet retryReads
	retryWrites serverMonitoringMode serverSelectionTimeoutMS socketTimeoutMS srvMaxHosts srvServiceName ssl tls
	tlsAllowInvalidCertificates tlsAllowInvalidHostnames tlsInsecure w waitQueueTimeoutMS wtimeout wtimeoutMS zlibCompressionLevel`
		.toLowerCase()
		.split(/\s+/),
);

const DEFAULT_PORT = 27017;

/**
 * Makes the connection string of a credential: the admin's hosts and options, with another user.
 * @param admin_uri one that the driver has accepted
 * Spec: ENGINES › Document database engine configuration. Design: §8
 */
export function connectionUri(
	admin_uri: string,
	credential: { username: string; password: string; database: string; auth_database: string },
): string {
	const { scheme, hosts, options } = partsOf(admin_uri);
	const [username, password, database, auth_database] = [
		credential.username,
		credential.password,
		credential.database,
		credential.auth_database,
	].map(encodeURIComponent);
	const query = [`authSource=${auth_database}`, ...options].join("&");
	return `${scheme}://${username}:${password}@${hosts.join(",")}/${database}?${query}`;
}

function partsOf(uri: string): Parts {
	const [, scheme = "", hosts = "", query = ""] = CONNECTION_URI.exec(uri) ?? [];
	return {
		scheme,
		// DNS names the hosts of mongodb+srv and their ports.
		hosts: scheme === "mongodb" ? hosts.split(",").map(withPort) : [hosts],
		options: query.split("&").filter((option) => SHARED_OPTIONS.has(option.split("=", 1).join("").toLowerCase())),
	};
}

function withPort(host: string): string {
	const isComplete = /:\d+$/.test(host) || /\.sock$/i.test(host);
	return isComplete ? host : `${host}:${DEFAULT_PORT}`;
}
