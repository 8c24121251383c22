package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// globalFlags stand before or after every verb.
type globalFlags struct {
	json, quiet, verbose bool
	home                 string
	host, tokenFile      string
	config               string
	sandbox              string
}

// laterVerbs are fixed by the contract and not there yet. A verb leaves this
// list with the change that brings it.
func laterVerbs() []string {
	return []string{
		"cp", "events", "freeze",
		"pool", "serve", "stats",
		"thaw", "token",
	}
}

func newRoot(a *app) *cobra.Command {
	here := &hereOptions{}
	root := &cobra.Command{
		Use:           "coop",
		Short:         "sandboxes for coding agents",
		Long:          rootHelp,
		Version:       a.hooks.Version.Version,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          unknownVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return here.run(cmd.Context(), a) },
	}
	root.SetIn(a.streams.In)
	root.SetOut(a.streams.Out)
	root.SetErr(a.streams.Err)
	root.SetVersionTemplate("coop {{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &usageError{message: err.Error(), hint: cmd.CommandPath() + " --help"}
	})
	root.Flags().SetInterspersed(false) // "coop diff --stat" is about diff, not about --stat
	addGlobalFlags(root, a)
	here.add(root)
	for _, verb := range verbs(a) {
		root.AddCommand(verb)
	}
	return root
}

const rootHelp = `Coop gives every coding agent its own disposable computer: a Linux sandbox with
the current directory as a copy-on-write workspace.

  coop                the sandbox of this directory: made if need be, and attached
  coop run -- CMD…    run a command in a new sandbox
  coop ls             the sandboxes there are
  coop doctor         what this host can and cannot do

Exit status: 0 done, 1 error, 2 usage, 3 no such sandbox, 4 daemon unreachable,
5 base not built, 130 interrupted. run and exec: the command's own, 128+signal if it was killed,
124 timeout, 125 Coop failed, 126 cannot be executed, 127 not found.`

func verbs(a *app) []*cobra.Command {
	return []*cobra.Command{
		newRun(a), newCreate(a), newExec(a), newInit(a), newRebuild(a),
		newAttach(a), newShell(a), newTerminal(a), newLogs(a), newRestart(a),
		newLs(a), newInspect(a), newPs(a),
		newDiff(a), newApprove(a), newDiscard(a), newReject(a), newConflicts(a), newRebase(a), newLog(a),
		newStop(a), newStart(a), newRm(a), newGC(a), newImage(a),
		newVolume(a), newWorkspace(a), newCache(a), newDf(a),
		newDoctor(a), newStatus(a), newShutdown(a), newVersion(a), newDaemon(a),
	}
}

func addGlobalFlags(root *cobra.Command, a *app) {
	f := root.PersistentFlags()
	f.BoolVar(&a.flags.json, "json", false, "print API types as JSON")
	f.BoolVarP(&a.flags.quiet, "quiet", "q", false, "print ids and names only, no warnings")
	f.BoolVarP(&a.flags.verbose, "verbose", "v", false, "tell more")
	f.StringVar(&a.flags.home, "home", "", "where Coop keeps everything (COOP_HOME, default ~/.coop)")
	f.StringVar(&a.flags.host, "host", "", "another daemon: unix:///path or http://host:port (COOP_HOST)")
	f.StringVar(&a.flags.tokenFile, "token-file", "", "file with the token for --host (or COOP_TOKEN)")
	f.StringVar(&a.flags.config, "config", "", "this file instead of the coop.toml that is found")
	f.StringVarP(&a.flags.sandbox, "sandbox", "s", "", "name, id or unique prefix of an id")
	mustRegister(root.RegisterFlagCompletionFunc("sandbox", a.completeSandbox))
}

// mustRegister panics: the flag is named two lines above its completion.
func mustRegister(err error) {
	if err != nil {
		panic(err)
	}
}

func unknownVerb(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if slices.Contains(laterVerbs(), args[0]) {
		return fmt.Errorf("%q is not there yet", args[0])
	}
	err := &usageError{message: fmt.Sprintf("unknown verb %q", args[0]), hint: "coop --help lists the verbs"}
	if root.SuggestionsMinimumDistance == 0 {
		root.SuggestionsMinimumDistance = 2
	}
	if near := root.SuggestionsFor(args[0]); len(near) > 0 {
		err.hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return err
}

// usage makes cobra's complaint about a number of arguments a usage error.
func usage(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return &usageError{message: err.Error(), hint: cmd.CommandPath() + " --help"}
		}
		return nil
	}
}
