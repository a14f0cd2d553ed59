package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) peerAddCommand() *cobra.Command {
	var p node.Peer
	cmd := &cobra.Command{
		Use:   "add --hub ID --endpoint HOST:PORT --pin PIN --may-reach PATTERN --by NAME",
		Short: "Approve another hub's key",
		Long: `Approve another hub. The pin is the fingerprint of its key: its administrator reads it from fleet status, and you
compare it over another way than the one it came by. Both sides add each other.

--may-reach says which of your seats that hub may address, as PROJECT/SEAT or NAME; * and ? stay within one part.
Nothing else passes, and nothing passes without one.

--replace changes a peer: give its endpoint, pins and patterns anew. What waits for it stays; a link whose key is no
longer approved ends at once.`,
		Example: `  fleet peer add --hub partner.example --endpoint relay.partner.example:8877 \
    --pin sha256:1f0e... --may-reach 'search/*' --by 'Dana Ito'
  fleet peer add --replace --hub partner.example --endpoint relay2.partner.example:8877 \
    --pin sha256:1f0e... --may-reach 'search/*' --may-reach 'build/*' --by 'Dana Ito'`,
		Args: nothing,
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, _ []string) error {
			if strings.TrimSpace(p.By) == "" {
				return usage("--by says who compared the pin; it may not be empty")
			}
			return a.connect(ctx, func(c *node.Client) error {
				row, err := c.AddPeer(ctx, p)
				if err != nil {
					return err
				}
				return a.print(row, func(w io.Writer) error { return writePeer(w, row) })
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&p.Hub, "hub", "", "the other hub's id")
	f.StringVar(&p.Endpoint, "endpoint", "", "its links address, HOST:PORT")
	f.StringArrayVar(&p.Pins, "pin", nil, "fingerprint of its key, compared; may be given again during a rotation")
	f.StringArrayVar(&p.MayReach, "may-reach", nil, "seats here it may address; may be given again")
	f.StringVar(&p.By, "by", "", "who compared the pin and approves")
	f.BoolVar(&p.Replace, "replace", false, "change a peer that is approved already")
	for _, name := range []string{"hub", "endpoint", "pin", "may-reach", "by"} {
		must(cmd.MarkFlagRequired(name))
	}
	a.jsonFlag(cmd)
	return cmd
}
