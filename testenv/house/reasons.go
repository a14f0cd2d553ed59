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
	b.WriteString("Every refusal, drop and close has one of these words, the same on the wire, in logs, in metrics and in the\n")
	b.WriteString("command line. Words are never renamed. Generated from `hub/wire/reasons.go`:\n")
	b.WriteString("`go test ./testenv/house -run Reasons -update` writes this file again.\n\n")
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
