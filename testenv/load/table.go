package load

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// WriteText prints the table: the median of each figure, and the spread of the ratios.
func (c *Comparison) WriteText(w io.Writer) error {
	var text strings.Builder
	t := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "load\tsubject\tmsgs/s\tp50 ms\tp99 ms\tCPU us/msg\tbytes written/msg\tresident MiB\tdisk fsyncs/s\tratio min\tmedian\tmax\t")
	for i := range c.Rows {
		row := &c.Rows[i]
		for _, samples := range [][]Sample{row.Subject, row.Yardstick} {
			writeSamples(t, row, samples)
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func writeSamples(t io.Writer, row *Row, samples []Sample) {
	if !slices.ContainsFunc(samples, func(s Sample) bool { return s.Failed == "" }) {
		fmt.Fprintf(t, "%s\t%s\tfailed\t\t\t\t\t\t\t\t\t\t\n", row.Shape, samples[0].Subject)
		return
	}
	fmt.Fprintf(
		t, "%s\t%s\t%.0f\t%.2f\t%.2f\t%.1f\t%.0f\t%.0f\t%.0f\t", row.Shape, samples[0].Subject,
		median(samples, func(s Sample) float64 { return s.PerS }), median(samples, func(s Sample) float64 { return s.P50MS }),
		median(samples, func(s Sample) float64 { return s.P99MS }), median(samples, func(s Sample) float64 { return s.CPUPerMsgUS }),
		median(samples, func(s Sample) float64 { return s.WrittenPerMsg }), median(samples, func(s Sample) float64 { return s.ResidentMiB }),
		median(samples, func(s Sample) float64 { return s.SyncsPerSBeside }),
	)
	if &samples[0] == &row.Subject[0] {
		fmt.Fprintf(t, "%.2f\t%.2f\t%.2f\t\n", row.Ratio.Min, row.Ratio.Median, row.Ratio.Max)
		return
	}
	fmt.Fprintln(t, "\t\t\t")
}

func median(samples []Sample, of func(Sample) float64) float64 {
	var all []float64
	for _, s := range samples {
		if s.Failed == "" {
			all = append(all, of(s))
		}
	}
	return spread(all).Median
}
