import type { Layout } from "./layout.ts";

/** First line of files that are ours to replace and to remove. */
export const MARK = "# Written by `svc install`, which replaces it. Changes of your own: `systemctl edit svc`.";

/**
 * The unit of the server: it can write to its own folders only, gains no rights, sees no other process and opens only IP connections
 * and local sockets.
 * @param credential the line that passes the master key
 * Design: §1, §5
 */
export function unitText({ program, settings, user }: Layout, credential: string): string {
	return `${MARK}
[Unit]
Description=svc, a secrets management server
Wants=network-online.target
After=network-online.target

[Service]
Type=notify
# systemd-notify does the sending.
NotifyAccess=all
ExecStart=${program} server
ExecReload=/bin/kill -HUP $MAINPID
User=${user}
Group=${user}
Environment=SVC_CONFIG=${settings}
# The lease clock asks whether the machine was restarted; ProcSubset hides the answer.
Environment=SVC_BOOT_ID=%b
${credential}
StateDirectory=svc
StateDirectoryMode=0700
CacheDirectory=svc
CacheDirectoryMode=0700
RuntimeDirectory=svc
RuntimeDirectoryMode=0700
WorkingDirectory=/var/lib/svc
UMask=0077

Restart=on-failure
RestartSec=1
# Wrong settings, and a disk that fails: a person has to look.
RestartPreventExitStatus=64 73 74 78
# A migration may take its time.
TimeoutStartSec=600
TimeoutStopSec=30
KillMode=mixed
WatchdogSec=120

LimitNOFILE=65536
LimitCORE=0
MemorySwapMax=0

NoNewPrivileges=yes
CapabilityBoundingSet=
AmbientCapabilities=
ProtectSystem=strict
ProtectHome=yes
PrivateTmp=yes
PrivateDevices=yes
PrivateUsers=yes
PrivateMounts=yes
PrivateIPC=yes
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
ProtectProc=invisible
ProcSubset=pid
RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX
# Everything but multicast and what is reserved, which the server never speaks to.
IPAddressDeny=any
IPAddressAllow=0.0.0.0/1 128.0.0.0/2 192.0.0.0/3
IPAddressAllow=::/1 8000::/2 c000::/3 e000::/4 f000::/5 f800::/6 fc00::/7 fe80::/10
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
RemoveIPC=yes
KeyringMode=private
DevicePolicy=closed
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources @mount @swap @debug @cpu-emulation @obsolete
# Node asks for more descriptors when it starts and goes on when it does not get them.
SystemCallErrorNumber=EPERM

[Install]
WantedBy=multi-user.target
`;
}
