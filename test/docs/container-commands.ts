/** Commands of docs/docker.md that no test runs, by the reason. */
export const CONTAINER_COMMANDS: Readonly<Record<string, readonly string[]>> = {
	"makes a key that only the commands after it use": [
		"(umask 077; head -c 32 /dev/urandom > master-key)",
		"sudo chown 65532 master-key",
		"mkdir --mode 0700 secrets",
		"head -c 32 /dev/urandom > secrets/master-key",
		"for name in database-password postgres-password; do head -c 24 /dev/urandom | base64 > secrets/$name; done",
		"cat certificate.pem key.pem > secrets/balancer.pem",
		"chmod 0444 secrets/*",
	],
	"needs Docker": [
		"svc run --realm shop --env prod -- docker run --rm --env DB_URL shop:latest",
		"svc run --realm shop --env prod -- docker compose up --detach",
		"docker run --rm --env-file app.env shop:latest",
		"docker load --input dist/image/svc-0.1.0-linux-x64-oci.tar",
		"docker compose --file docs/container/compose.yaml up --detach",
		"docker compose logs svc",
		"cd docs/container",
		"docker compose --file compose-three.yaml up --detach",
		"docker compose --file compose-three.yaml exec one svc init ada@example.com --setup-code-file /data/setup-code",
		"docker compose --file compose-three.yaml exec one svc nodes",
		"docker compose exec svc svc init ada@example.com --setup-code-file /data/setup-code",
		"docker run --detach --name svc --read-only --stop-timeout 15 --publish 127.0.0.1:8443:8443 --volume svc-data:/data svc:0.1.0",
	],
};
