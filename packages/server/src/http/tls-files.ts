/** Names of the files of a self-signed certificate in the data directory. */
export const TLS_FILES = ["tls.crt", "tls.key"] as const;
