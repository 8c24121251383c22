#!/usr/bin/env bash
# Coop's main job on a sample project, step by step, with the time each takes.
set -euo pipefail
cd "$(dirname "$0")/.."
repo=$PWD
coop=$PWD/bin/coop
work=$(mktemp -d /tmp/coop-demo.XXXXXX)
export COOP_HOME=$work/home
clean() {
	"$coop" -q rm -f --all >/dev/null 2>&1 || true
	"$coop" -q image prune -a >/dev/null 2>&1 || true
	"$coop" -q shutdown >/dev/null 2>&1 || true
	rm -rf "$work"
}
trap clean EXIT

bold=$(tput bold 2>/dev/null || true) plain=$(tput sgr0 2>/dev/null || true)
# step TEXT CMD…: tells what happens, does it, shows the time.
step() {
	printf '\n%s%s%s\n$ %s\n' "$bold" "$1" "$plain" "${*:2}"
	local begin=${EPOCHREALTIME/./}
	"${@:2}"
	local end=${EPOCHREALTIME/./}
	printf '  (%d.%03d s)\n' $(((end - begin) / 1000000)) $(((end - begin) / 1000 % 1000))
}
coop() { "$coop" "$@"; }

# sit KEYS MARK: a person at a terminal who attaches, types KEYS once there is a
# prompt, and leaves with Ctrl+] when MARK has appeared.
sit() {
	coproc TERMINAL { script -qec "stty cols 80 rows 10; '$coop' -q attach demo" /dev/null; }
	local out=${TERMINAL[0]} in=${TERMINAL[1]} pid=$TERMINAL_PID seen=
	look_for "$out" '# '
	printf '%s' "$1" >&"$in"
	look_for "$out" "$2"
	printf '\035' >&"$in"
	cat <&"$out" >/dev/null || true
	wait "$pid" || true
	printf '%s\n' "$seen" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g; s/\x1b[()].//g; s/[\x18\x1b\x0e\x0f]//g' | tr '\r' '\n' | grep -v '^ *$' | tail -6 | sed 's/^/  | /'
}
look_for() {
	local c
	while IFS= read -r -n 1 -d '' -u "$1" c; do
		seen+=$c
		[[ $seen == *"$2" ]] && return
	done
}

mkdir "$work/shop" && cd "$work/shop"
cat >shop.py <<'PY'
def total(prices):
    return sum(prices)


def discount(price, percent):
    return price - price * percent / 100


def receipt(prices):
    return "\n".join(str(p) for p in prices)
PY
printf 'remember the milk\n' >notes.txt

step "The first command starts the daemon and looks at the host once" coop run -- echo "hello from a sandbox"
step "From then on a whole sandbox, command and clean-up is a moment" coop run -- true
step "A sandbox over this project that stays" coop create --name demo
step "An agent works in it" coop exec demo -- sh -c '
	sed -i "s/sum(prices)/round(sum(prices), 2)/; s/str(p) for/repr(p) for/" shop.py
	rm notes.txt; echo "rm -rf does no harm" >IDEAS; rm -f /usr/bin/perl; hostname; id -un'
step "Out here nothing has happened" cat notes.txt
step "What it may do is little" coop exec demo -- sh -c 'grep -E "NoNewPrivs|Seccomp:|CapEff" /proc/self/status; ls /home /root; cat /etc/shadow || true'

step "Somebody attaches to its terminal, starts something, and leaves with Ctrl+]" \
	sit $'while sleep 0.1; do echo beat $((++n)); done\n' 'beat 5'
step "The daemon is killed" kill -9 "$(cat "$COOP_HOME/daemon.pid")"
step "The next command starts another, which finds everything as it was" coop ps demo
step "Attached again: the same screen, and the program has gone on" sit '' 'beat 15'

step "What the agent changed" coop diff -s demo
step "One hunk of it reaches the project" coop approve -s demo --hunk shop.py:0
step "and no more than that" head -2 shop.py
step "The rest is turned down" coop reject -s demo
step "so that nothing else is different" grep -n "str(p)" shop.py
step "Who did this" coop log shop.py
step "Gone, with everything it made" coop rm demo
step "Nothing is left" coop ls

# Part two: an image from a registry, a base built over it, sandboxes of that. The
# registry is a small program on this machine, its image made of tools that are
# installed here.
(cd "$repo" && go build -o "$work/registry" ./test/registry)
coproc REGISTRY { exec "$work/registry"; }
registry=$REGISTRY_PID
read -r image <&"${REGISTRY[0]}"
mkdir "$work/tools" && cd "$work/tools"
printf '[base]\nimage = "%s"\n' "$image" >coop.toml
cat >>coop.toml <<'TOML'
[setup]
run = [
  """printf '#!/bin/sh\\necho "$GREETING, as $(id -un)"\\n' >/bin/greet""",
  "chmod 755 /bin/greet",
]
TOML
# not_built: what a sandbox says whose base is missing.
not_built() { coop run -- greet || printf '  exit status %d\n' $?; }

step "An image comes from a registry, every byte verified" coop image pull "$image"
step "Without its base a sandbox does not start, and says what to do" not_built
step "The base is built, each step a layer" coop rebuild
step "Nothing has changed: nothing runs" coop rebuild
step "A sandbox of it" coop run -- greet
sed -i 's|^]$|  "echo two >/version",\n]|' coop.toml
step "One step more: only that one runs" coop rebuild
step "and sandboxes have it" coop run -- cat /version
step "What there is" coop image ls
step "Gone" coop image prune -a
exec {REGISTRY[1]}>&-
wait "$registry"
