package main

import (
	"context"
	"fmt"
	"io"

	"github.com/oklog/ulid/v2"
	"github.com/spf13/cobra"

	"fleetrelay/cmd/fleet/node"
)

func (a *app) sendCommand() *cobra.Command {
	var r node.SendRequest
	cmd := &cobra.Command{
		Use:   "send --as SEAT --to ADDRESS TEXT",
		Short: "Send one message as a seat",
		Long: `Send one message as a seat of this hub, which need not be online; no name is bound. It returns once the message is in
the journal. An address is a seat here, or SEAT@HUB for a seat of another hub. Standard error says so if nobody online
here is addressed: a seat that never connected and a misspelt one look alike.`,
		Example: `  fleet send --as ops/console --to search/ranker 'index is stale'
  fleet send --as ops/console --to 'build/ci@partner.example' 'ready' --receipt`,
		Args: one("one text"),
		RunE: a.do(func(ctx context.Context, _ *cobra.Command, args []string) error {
			r.Text = args[0]
			if r.ClientMsgID == "" {
				r.ClientMsgID = ulid.Make().String() // what comes of the message names it
			}
			return a.running(ctx, func(c *node.Client) error {
				sent, err := c.Send(ctx, r)
				if err != nil {
					return err
				}
				if sent.NobodyOnline {
					a.say("Nobody online is addressed by %s. The message waits in the mailbox until such a seat connects and asks for it.\n", r.To)
				}
				return a.print(sent, func(w io.Writer) error {
					where := "here"
					if sent.Dest != "" {
						where = "for " + sent.Dest
					}
					_, err := fmt.Fprintf(w, "accepted %s: seq %d, msg_id %d\n", where, sent.Seq, sent.MsgID)
					return err
				})
			})
		}),
	}
	f := cmd.Flags()
	f.StringVar(&r.As, "as", "", "the seat that sends")
	f.StringVar(&r.To, "to", "", "the address")
	f.StringVar(&r.ClientMsgID, "client-msg-id", "", "your id of this message, one is made otherwise; repeat it when you send again: the hub delivers both, and the receiver drops the second")
	f.BoolVar(&r.Receipt, "receipt", false, "ask for a delivery receipt, which goes to the seat")
	must(cmd.MarkFlagRequired("as"))
	must(cmd.MarkFlagRequired("to"))
	a.jsonFlag(cmd)
	return cmd
}
