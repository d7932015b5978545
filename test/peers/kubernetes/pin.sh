#!/bin/sh
# Writes go.mod for a version of Kubernetes: ./pin.sh v1.35.4, then `go mod tidy`. What Kubernetes itself requires at v0.0.0 lives in its
# own repository, and is published as v0.x.y.
set -eu
version=$1
published=v0.${version#v1.}
cd "$(dirname "$0")"
required=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"GoMod": "\(.*\)",/\1/p')
{
	printf 'module svc.test/kubepeer\n\n%s\n\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$(grep '^go ' "$required")" "$version"
	awk '$1 ~ /^k8s.io\// && $2 == "v0.0.0" { print $1 }' "$required" | sort -u |
		while read -r module; do printf '\t%s => %s %s\n' "$module" "$module" "$published"; done
	printf ')\n'
} >go.mod
