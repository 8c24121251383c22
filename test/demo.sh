#!/usr/bin/env bash
# Coop's main job on a sample project, step by step, with the time each takes.
set -euo pipefail
cd "$(dirname "$0")/.."
coop=$PWD/bin/coop
work=$(mktemp -d /tmp/coop-demo.XXXXXX)
export COOP_HOME=$work/home
clean() {
	"$coop" -q rm -f --all >/dev/null 2>&1 || true
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

mkdir "$work/shop" && cd "$work/shop"
printf 'def total(prices):\n    return sum(prices)\n' >shop.py
printf 'remember the milk\n' >notes.txt

step "The first command starts the daemon and looks at the host once" coop run -- echo "hello from a sandbox"
step "From then on a whole sandbox, command and clean-up is a moment" coop run -- true
step "A sandbox over this project that stays" coop create --name demo
step "An agent works in it" coop exec demo -- sh -c '
	sed -i "s/sum(prices)/round(sum(prices), 2)/" shop.py
	rm notes.txt; echo "rm -rf does no harm" >IDEAS; rm -f /usr/bin/perl; hostname; id -un'
step "What it changed, seen from inside: the original is at /repo" coop exec demo -- sh -c 'diff -ru /repo /workspace || true'
step "Out here nothing has happened" cat shop.py notes.txt
step "What it may do is little" coop exec demo -- sh -c 'grep -E "NoNewPrivs|Seccomp:|CapEff" /proc/self/status; ls /home /root; cat /etc/shadow || true'

coop exec demo -- sh -c 'for i in 1 2 3; do echo "step $i"; done >/tmp/progress; exec sleep 1000' &
job=$!
until coop exec demo -- test -s /tmp/progress; do :; done
step "The daemon is killed" kill -9 "$(cat "$COOP_HOME/daemon.pid")"
wait $job || true
step "The next command finds everything as it was: the sandbox, its files, its programs" coop ps demo
coop exec demo -- cat /tmp/progress
step "Gone, with everything it made" coop rm demo
step "Nothing is left" coop ls
