package node

import "strconv"

// Count is a number with what is counted: 1 event, 2 events.
func Count(n uint64, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.FormatUint(n, 10) + " " + noun
}
