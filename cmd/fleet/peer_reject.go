package main

import (
	"cmp"
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerRejectCommand() *cobra.Command {
	var in node.Rejection
	cmd := &cobra.Command{
		Use:   "reject FINGERPRINT|CODE --by NAME",
		Short: "Turn away a hub that waits",
		Long: `Turn away a hub that waits for approval. Its key is refused by name from then on and does not come to wait again. An
approval by the same code or fingerprint lifts it; fleet peer list shows both. The key of an approved hub is not rejected:
its approval is ended with fleet peer revoke.`,
		Example: `  fleet peer reject K7PM-2Q0D-9XRA-44TE --by 'Dana Ito'`,
		Args:    one("one fingerprint or code"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			if in.Key = args[0]; strings.TrimSpace(in.By) == "" {
				return usage("--by says who decides; it may not be empty")
			}
			return a.connect(ctx, func(c *node.Client) error {
				row, err := c.Reject(ctx, in)
				if err != nil {
					return err
				}
				return a.print(row, func(w io.Writer) error {
					t := table{w: w}
					t.row("hub", cmp.Or(row.Hub, "-"))
					t.row("code", cmp.Or(row.Code, "-"))
					t.row("pin", row.Pin)
					t.row("rejected", map[bool]string{true: "no, this was a dry run", false: "yes"}[in.DryRun])
					return t.err
				})
			})
		}),
	}
	cmd.Flags().StringVar(&in.By, "by", "", "who decides")
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "show whom it means and reject nobody")
	must(cmd.MarkFlagRequired("by"))
	a.jsonFlag(cmd)
	return cmd
}
