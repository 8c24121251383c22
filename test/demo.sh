#!/usr/bin/env bash
# Coop's main job on a sample project, step by step, with the time each takes.
set -euo pipefail
cd "$(dirname "$0")/.."
coop=$PWD/bin/coop
work=$(mktemp -d /tmp/coop-demo.XXXXXX)
export COOP_HOME=$work/home
clean() {
	command tmux -S "$work/seat" kill-server 2>/dev/null || true
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

# A terminal needs somebody at it: tmux is.
seat=$work/seat
tmux() { command tmux -S "$seat" "$@"; }
shown() { tmux capture-pane -p | sed '/^ *$/d'; }
see() { # TEXT: waits until it is on the screen
	local tries=0
	until shown | grep -q -- "$1"; do
		tries=$((tries + 1))
		[ $tries -lt 600 ] || { echo "not seen: $1"; shown; return 1; }
		sleep 0.1
	done
	shown
}
if command -v tmux >/dev/null; then
	tmux -f /dev/null new-session -d -x 80 -y 12 "PS1='outside> ' COOP_HOME=$COOP_HOME bash --norc"
	type() { tmux send-keys -- "$1" Enter; }
	type "clear; $coop shell demo"
	see 'root@' >/dev/null
	type 'echo "in the sandbox, on $(tty)"; seq 3'
	step "A shell in it, on a terminal" see '^3'
	tmux send-keys 'C-]'
	step "ctrl-] leaves it; everything goes on" see 'come back'
	type "clear; $coop shell demo"
	see '^3' >/dev/null
	step "Back on it: the screen is as it was. Now the daemon is killed under it" kill -9 "$(cat "$COOP_HOME/daemon.pid")"
	attached() { coop terminal ls demo | grep '^1 .* 1  *running'; }
	tries=0
	until attached >/dev/null || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done
	step "It has come back by itself" attached
	type 'echo "still the same shell: $$"'
	step "Nobody noticed" see 'shell: [0-9]'
	tmux kill-server
fi
step "Gone, with everything it made" coop rm demo
step "Nothing is left" coop ls
