package cli

import (
	"slices"
	"strings"
	"testing"
)

func TestVerbsThatAreNotThere(t *testing.T) {
	w := newWorld(t)
	w.want(t, 1, "", "coop: \"events\" is not there yet\n", "events", "--stat", "x")
	w.want(t, 1, "", "coop: \"stats\" is not there yet\n", "--json", "stats", "x")
	w.want(t, 2, "", "coop: unknown verb \"lss\"\nhint: did you mean ls or logs?\n", "terminal", "lss")
	w.want(t, 2, "", "coop: unknown verb \"inspec\"\nhint: did you mean inspect?\n", "inspec")
	w.want(t, 2, "", "coop: unknown verb \"zzzzzzzz\"\nhint: coop --help lists the verbs\n", "zzzzzzzz", "-x")
	w.want(t, 2, "", "coop: unknown verb \"\\x1b[2J\"\nhint: coop --help lists the verbs\n", "\x1b[2J")
}

// Every verb of the contract is either there or in the list.
func TestContractVerbs(t *testing.T) {
	const contract = `run create attach shell terminal exec ls inspect stats events logs ps stop start restart
		freeze thaw rm kill cp diff approve discard reject events rebase init rebuild build image volume
		workspace gc df pool serve token doctor status shutdown daemon version`
	var there []string
	for _, verb := range verbs(&app{}) {
		there = append(there, verb.Name())
		there = append(there, verb.Aliases...)
	}
	for _, verb := range strings.Fields(contract) {
		if slices.Contains(there, verb) == slices.Contains(laterVerbs(), verb) {
			t.Errorf("%s: is it there or is it later?", verb)
		}
	}
}

func TestUsageErrors(t *testing.T) {
	w := newWorld(t)
	t.Setenv("COOP_TEST_UNSET", "")
	for _, line := range []string{
		"--bogus", "ls --bogus", "ls x", "create x", "inspect a b", "run", "run --", "run --rm --keep -- x", "run -s box -- x",
		"exec ls", "exec box ls", "exec a b -- ls", "exec --", "exec box --", "exec -s box", "exec box -s box -- ls",
		"create --memory lots", "create --ttl soon", "create --ttl -1s", "create --cpu -1", "create --pids -1", "create --env =x",
		"create --env COOP_TEST_NEVER_SET", "create --label x", "create --mount x", "create --mount a:b:c", "create --volume /a:/b",
		"create --mode none --workspace .", "create --mode volume", "create -s x", "run --timeout -1s -- x", "stop --grace -1s",
		"rm --all x", "rm --all -s x", "inspect x -s y", "--host ftp://x ls",
	} {
		status, stdout, stderr := w.coop(strings.Fields(line)...)
		if status != 2 || stdout != "" || !strings.HasPrefix(stderr, "coop: ") {
			t.Errorf("coop %s: %d %q %q", line, status, stdout, stderr)
		}
	}
	if n := len(w.daemon.Creates()); n != 0 {
		t.Errorf("%d sandboxes created", n)
	}
}

func TestHelp(t *testing.T) {
	w := newWorld(t)
	for _, args := range [][]string{{"--help"}, {"help"}} {
		status, stdout, stderr := w.coop(args...)
		if status != 0 || !strings.Contains(stdout, "coop run -- CMD") || stderr != "" {
			t.Errorf("%q: %d %q %q", args, status, stdout, stderr)
		}
	}
	w.want(t, 0, "coop dev\n", "", "--version")
}

func TestDaemonVerb(t *testing.T) {
	w := newWorld(t)
	var got []string
	w.hooks.Daemon = func(args []string) int { got = args; return 7 }
	w.want(t, 7, "", "", "--home", "/h", "daemon", "--listen", "x")
	if strings.Join(got, " ") != "--home /h --listen x" {
		t.Errorf("%q", got)
	}
}
