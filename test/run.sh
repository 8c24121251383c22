#!/usr/bin/env bash
# Runs every test there is. As root it also makes two ordinary users, one with a
# range of subordinate ids and one without, and runs the sandbox suites as each
# of them: root, many ids and one id are three different products.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n== %s\n' "$*"; }

install_tools() {
	local missing=()
	command -v newuidmap >/dev/null || missing+=(uidmap)
	command -v setpriv >/dev/null || missing+=(util-linux)
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || missing+=(postgresql)
	command -v tmux >/dev/null || missing+=(tmux)
	command -v vim >/dev/null || missing+=(vim)
	command -v less >/dev/null || missing+=(less)
	command -v htop >/dev/null || missing+=(htop)
	command -v busybox >/dev/null || missing+=(busybox-static) # images are made of it
	command -v gcc >/dev/null || missing+=(gcc libc6-dev) # for the race detector
	[ ${#missing[@]} -eq 0 ] && return
	if [ "$(id -u)" != 0 ]; then
		echo "not installed: ${missing[*]} (some tests will say so)"
		return
	fi
	say "install ${missing[*]}"
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}"
}

install_tools
bash test/lint.sh

say "unit tests, with the race detector"
go build -o bin/verdict ./test/verdict # fails on a skip where CI is set
CGO_ENABLED=1 go test -json -race -shuffle=on $(go list ./... | grep -v '/test/\(script\|escape\|fault\|tty\)$') | bin/verdict

# The suites run as other users too, so they live outside of the checkout.
work=$(mktemp -d /tmp/coop-test.XXXXXX)
made=()
clean() {
	for u in "${made[@]:-}"; do [ -n "$u" ] && userdel -rf "$u" 2>/dev/null || true; done
	rm -rf "$work"
}
trap clean EXIT
chmod 755 "$work"

say "build the suites"
cp bin/coop "$work/coop"
# The build whose fences can be taken away, with its coop-init laid over the
# embedded one for this build only.
go build -trimpath -tags fencetest -o "$work/coop-init" ./cmd/coop-init
printf '{"Replace": {"%s": "%s"}}' "$PWD/internal/launch/initbin/embed/coop-init" "$work/coop-init" >"$work/overlay.json"
go build -trimpath -tags fencetest -overlay "$work/overlay.json" -o "$work/coop-fencetest" ./cmd/coop
for s in script fault tty; do go test -c -o "$work/$s.test" "./test/$s"; done
go test -c -tags fencetest -o "$work/escape.test" ./test/escape

# suites USER: runs them as that user, empty for the present one.
suites() {
	local as=() home=$HOME
	if [ -n "$1" ]; then
		home=$(getent passwd "$1" | cut -d: -f6)
		as=(setpriv --reuid "$1" --regid "$1" --init-groups)
	fi
	for s in script fault tty escape; do
		say "$s, as ${1:-$(id -un)}"
		(cd "$home" && "${as[@]}" env -i HOME="$home" PATH="$PATH" LANG=C.UTF-8 CI="${CI:-}" COOP_BIN="$work/coop" \
			COOP_BIN_FENCETEST="$work/coop-fencetest" "$work/$s.test" -test.timeout 10m)
	done
}

# user NAME: makes an ordinary user unless there is one of that name.
user() {
	id "$1" >/dev/null 2>&1 && return
	useradd -m "$1"
	made+=("$1")
}

suites ""
if [ "$(id -u)" = 0 ]; then
	user coop-many
	grep -q '^coop-many:' /etc/subuid || usermod --add-subuids 700000-765535 --add-subgids 700000-765535 coop-many
	suites coop-many
	user coop-one
	sed -i '/^coop-one:/d' /etc/subuid /etc/subgid
	suites coop-one
fi
say "all passed"
