import assert from "node:assert/strict";
import { test } from "node:test";
import { MongoClient } from "mongodb";
import { connectionUri } from "./uri.ts";

const CREDENTIAL = { username: "svc_0a1b2c3d", password: "0123", database: "app", auth_database: "admin" };
const LOGIN = "svc_0a1b2c3d:0123";

/** An administrator's connection string, and the one derived for a credential. Spec: ENGINES › Document database engine configuration */
const CASES: [admin: string, expected: string][] = [
	["mongodb://root:secret@db:27017", `mongodb://${LOGIN}@db:27017/app?authSource=admin`],
	["mongodb://root:secret@db:27017/", `mongodb://${LOGIN}@db:27017/app?authSource=admin`],
	["mongodb://root:secret@db/other?", `mongodb://${LOGIN}@db:27017/app?authSource=admin`],
	["mongodb://db:1234", `mongodb://${LOGIN}@db:1234/app?authSource=admin`],
	["mongodb://root@db:1234", `mongodb://${LOGIN}@db:1234/app?authSource=admin`],
	["mongodb://ro%40ot:se%2Fc%3Are%40t@db", `mongodb://${LOGIN}@db:27017/app?authSource=admin`],
	[
		"mongodb://127.0.0.1,[::1],[2001:db8::1]:99",
		`mongodb://${LOGIN}@127.0.0.1:27017,[::1]:27017,[2001:db8::1]:99/app?authSource=admin`,
	],
	["mongodb://%2Ftmp%2Fmongodb-27017.sock", `mongodb://${LOGIN}@%2Ftmp%2Fmongodb-27017.sock/app?authSource=admin`],
	[
		"mongodb://root:secret@a:1,b:2,c/?replicaSet=rs0&tls=true&w=majority",
		`mongodb://${LOGIN}@a:1,b:2,c:27017/app?authSource=admin&replicaSet=rs0&tls=true&w=majority`,
	],
	["mongodb://root:secret@a?replicaSet=rs0#part", `mongodb://${LOGIN}@a:27017/app?authSource=admin&replicaSet=rs0`],
	[
		"mongodb+srv://root:secret@cluster.example.com/other?retryWrites=true&appName=x",
		`mongodb+srv://${LOGIN}@cluster.example.com/app?authSource=admin&retryWrites=true&appName=x`,
	],
	[
		"mongodb://root:secret@a/?authSource=users&authMechanism=SCRAM-SHA-1&directConnection=true",
		`mongodb://${LOGIN}@a:27017/app?authSource=admin&directConnection=true`,
	],
	[
		"mongodb://a/?AUTHSOURCE=$external&AuthMechanism=MONGODB-X509&TLS=true",
		`mongodb://${LOGIN}@a:27017/app?authSource=admin&TLS=true`,
	],
	[
		"mongodb://me@a/?authMechanism=GSSAPI&authMechanismProperties=SERVICE_NAME:secret&ssl=true",
		`mongodb://${LOGIN}@a:27017/app?authSource=admin&ssl=true`,
	],
	[
		"mongodb://a/?tls=true&tlsCAFile=/etc/ca.pem&tlsCertificateKeyFile=/etc/me.pem&tlsCertificateKeyFilePassword=secret",
		`mongodb://${LOGIN}@a:27017/app?authSource=admin&tls=true`,
	],
	[
		"mongodb://a/?proxyHost=proxy&proxyPort=1080&proxyUsername=me&proxyPassword=secret",
		`mongodb://${LOGIN}@a:27017/app?authSource=admin`,
	],
	["mongodb://a/?passphrase=secret&key=secret", `mongodb://${LOGIN}@a:27017/app?authSource=admin`],
	[
		"mongodb://a/?readPreference=secondary&readPreferenceTags=dc:ny,rack:1&readPreferenceTags=dc:ny&readPreferenceTags=",
		`mongodb://${LOGIN}@a:27017/app?authSource=admin&readPreference=secondary&readPreferenceTags=dc:ny,rack:1&readPreferenceTags=dc:ny&readPreferenceTags=`,
	],
];

for (const [admin, expected] of CASES) {
	test(`the host of ${admin} is kept, and who logs in there is not`, () => {
		new MongoClient(admin);
		const uri = connectionUri(admin, CREDENTIAL);
		assert.equal(uri, expected);
		const { options } = new MongoClient(uri);
		assert.equal(options.credentials?.username, CREDENTIAL.username);
		assert.equal(options.credentials?.password, CREDENTIAL.password);
		assert.equal(options.credentials?.source, "admin");
		assert.equal(options.dbName, "app");
		assert.ok(!uri.includes("secret"));
	});
}

test("every part is percent-encoded", () => {
	const strange = { username: "us/er@", password: "p:?#&%", database: "a b", auth_database: "auth&x=y" };
	const uri = connectionUri("mongodb://root:secret@db/?tls=true", strange);
	assert.equal(uri, "mongodb://us%2Fer%40:p%3A%3F%23%26%25@db:27017/a%20b?authSource=auth%26x%3Dy&tls=true");
	const { options } = new MongoClient(uri);
	const { username, password, source } = options.credentials ?? assert.fail("nobody logs in");
	assert.deepEqual({ username, password, database: options.dbName, auth_database: source }, strange);
});
