#!/usr/bin/env bash
# Installs packages in a real Debian as ordinary users, one with a range of
# subordinate ids and one without. Needs root, Debian, and the mirror that this
# host's apt uses. COOP_TEST_DEBIAN=FILE.tar takes a root made before.
set -euo pipefail
cd "$(dirname "$0")/.."
say() { printf '\n== %s\n' "$*"; }
if [ "$(id -u)" != 0 ]; then
	echo "test/debian.sh makes users and a root filesystem: run it as root" >&2
	exit 1
fi

work=$(mktemp -d /tmp/coop-debian.XXXXXX)
made=()
clean() {
	for u in "${made[@]:-}"; do [ -n "$u" ] && userdel -rf "$u" 2>/dev/null || true; done
	rm -rf "$work"
}
trap clean EXIT
chmod 755 "$work"

# mirror RELEASE: where this host's apt gets a release from.
mirror() {
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' |
		awk -v release="$1" '$2 == release && $3 == "main" { print $1; exit }'
}

# root FILE: makes the tar of a minimal Debian whose apt is set up as the host's.
root() {
	command -v debootstrap >/dev/null || DEBIAN_FRONTEND=noninteractive apt-get install -y -qq debootstrap
	local release uri
	release=$(. /etc/os-release && echo "$VERSION_CODENAME")
	uri=$(mirror "$release")
	if [ -z "$uri" ]; then
		echo "apt of this host knows no mirror of $release" >&2
		exit 1
	fi
	debootstrap --variant=minbase "$release" "$work/root" "$uri" >"$work/debootstrap.log" || {
		tail -20 "$work/debootstrap.log" >&2
		exit 1
	}
	apt-config dump | grep -i '^Acquire::[a-z:]*proxy' >"$work/root/etc/apt/apt.conf.d/50host" || true
	tar -C "$work/root" -cf "$1" .
	rm -rf "$work/root"
}

debian=${COOP_TEST_DEBIAN:-$work/debian.tar}
if [ ! -e "$debian" ]; then
	say "make a Debian"
	root "$debian"
fi
cp bin/coop "$work/coop"
go test -c -o "$work/fault.test" ./test/fault

user() {
	id "$1" >/dev/null 2>&1 && return
	useradd -m "$1"
	made+=("$1")
}
user coop-debian-many
grep -q '^coop-debian-many:' /etc/subuid || usermod --add-subuids 800000-865535 --add-subgids 800000-865535 coop-debian-many
user coop-debian-one
sed -i '/^coop-debian-one:/d' /etc/subuid /etc/subgid
for u in coop-debian-many coop-debian-one; do
	say "packages, as $u"
	home=$(getent passwd "$u" | cut -d: -f6)
	(cd "$home" && setpriv --reuid "$u" --regid "$u" --init-groups env -i HOME="$home" PATH="$PATH" LANG=C.UTF-8 \
		http_proxy="${http_proxy:-}" https_proxy="${https_proxy:-}" no_proxy="${no_proxy:-}" \
		COOP_BIN="$work/coop" COOP_TEST_DEBIAN="$debian" "$work/fault.test" -test.v -test.run '^TestDebian' -test.timeout 10m)
done
say "all passed"
