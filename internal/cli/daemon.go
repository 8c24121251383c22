package cli

import "github.com/spf13/cobra"

// newDaemon hands everything to the hook: the daemon reads its own flags.
func newDaemon(a *app) *cobra.Command {
	return &cobra.Command{
		Use:                "daemon",
		Short:              "be the daemon, in the foreground",
		Long:               "Be the daemon, in the foreground. Other verbs start one when they need it.",
		DisableFlagParsing: true,
		RunE: func(_ *cobra.Command, args []string) error {
			if status := a.hooks.Daemon(args); status != 0 {
				return &statusError{status: status}
			}
			return nil
		},
	}
}
