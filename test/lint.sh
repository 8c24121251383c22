#!/usr/bin/env bash
# Formatting, vet with and without the build that can take fences away, and
# staticcheck. The layer map is arch_test.go, part of the unit tests.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n== %s\n' "$*"; }

say "format"
unformatted=$(go run mvdan.cc/gofumpt@v0.9.2 -l .)
if [ -n "$unformatted" ]; then
	echo "not formatted (gofumpt -w):"
	echo "$unformatted"
	exit 1
fi
say "vet"
go vet ./...
go vet -tags fencetest ./...
say "staticcheck"
go run honnef.co/go/tools/cmd/staticcheck@v0.7.0 ./...
