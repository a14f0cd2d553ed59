package house

import (
	"fmt"
	"strings"

	"fleetrelay/hub/wire"
)

// ReasonsDoc renders docs/reasons.md from the list of reason words.
func ReasonsDoc() string {
	var b strings.Builder
	b.WriteString("# Reason words\n\n")
	b.WriteString("Every refusal, drop and close has one of these words, and words are never renamed. Where they stand:\n\n")
	b.WriteString("- to an agent: `error_code` of an `error` frame and `reason` of a receipt. A close has the code and text of the last\n")
	b.WriteString("  column, which public clients know; several words share one, and the node's log tells them apart.\n")
	b.WriteString("- between hubs: the reason of a `bye` and of a refused record, see [link.md](link.md).\n")
	b.WriteString("- in the log: the key `reason`.\n")
	b.WriteString("- on the command line: `fleet: WORD: sentence`, or `reason` with `--json`; in `fleet status` and `fleet peer show`\n")
	b.WriteString("  beside a link that is down.\n")
	b.WriteString("- in the journal: `reason` of receipts, of refused and of quarantined records.\n\n")
	b.WriteString("Generated from `hub/wire/reasons.go`: `go test ./testenv/house -run Reasons -update` writes this file again.\n\n")
	b.WriteString("| word | meaning | what to do | close |\n| --- | --- | --- | --- |\n")
	for _, r := range wire.Reasons() {
		closing := ""
		if c, ok := wire.CloseOf(r.Word); ok {
			closing = fmt.Sprintf("%d `%s`", c.Code, c.Text)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", r.Word, cell(r.Meaning), cell(r.Next), closing)
	}
	return b.String()
}

func cell(s string) string { return strings.ReplaceAll(strings.TrimSpace(s), "|", "\\|") }
