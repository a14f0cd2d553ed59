package load

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Options say what to compare.
type Options struct {
	Subject, Yardstick Subject
	Shapes             []Shape // nil is Shapes
	Pairs              int     // measurements of each, in turn; 0 is 3
	Length             Length  // zero is 1 s of warm-up and 5 s
	Dir                string  // folders of the runs are made here, and removed; "" is the system's
	Progress           func(text string)
}

func (o *Options) withDefaults() {
	if o.Shapes == nil {
		o.Shapes = Shapes()
	}
	if o.Pairs == 0 {
		o.Pairs = 3
	}
	if o.Length == (Length{}) {
		o.Length = Length{Warmup: time.Second, For: 5 * time.Second}
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
}

// Sample is one measurement of one subject.
type Sample struct {
	Subject string `json:"subject"`
	Measured
	CPUPerMsgUS     float64 `json:"cpu_us_per_message"`        // of all processes of the subject
	WrittenPerMsg   float64 `json:"bytes_written_per_message"` // by all processes, to the disk
	ResidentMiB     float64 `json:"resident_mib"`              // of all processes, at the end
	SyncsPerSBeside float64 `json:"fsyncs_per_s_beside"`       // of the disk, measured right before
	Failed          string  `json:"failed,omitzero"`           // why this measurement means nothing
}

// Spread is the smallest, the middle and the largest of some figures.
type Spread struct {
	Min    float64 `json:"min"`
	Median float64 `json:"median"`
	Max    float64 `json:"max"`
}

// Row is one shape.
type Row struct {
	Shape     string   `json:"shape"`
	Subject   []Sample `json:"subject"`
	Yardstick []Sample `json:"yardstick"`
	Ratio     Spread   `json:"throughput_ratio"` // subject / yardstick, pair by pair
	CPURatio  Spread   `json:"cpu_ratio"`
}

// Comparison is the whole table.
type Comparison struct {
	Rows []Row `json:"rows"`
}

// Compare measures subject and yardstick in turn, each time with fresh folders and processes. A failed measurement is
// marked in its sample and counts in no ratio; the others are still made, and the error names all that failed. What was
// measured is returned with any error.
func Compare(ctx context.Context, o Options) (*Comparison, error) {
	o.withDefaults()
	c := &Comparison{}
	var failed error
	for _, shape := range o.Shapes {
		row := Row{Shape: shape.Name}
		for range o.Pairs {
			for _, s := range []struct {
				subject Subject
				samples *[]Sample
			}{{o.Subject, &row.Subject}, {o.Yardstick, &row.Yardstick}} {
				sample, err := o.measure(ctx, s.subject, shape)
				if ctx.Err() != nil {
					c.add(row)
					return c, errors.Join(failed, ctx.Err())
				}
				if err != nil {
					sample.Failed = err.Error()
					failed = errors.Join(failed, fmt.Errorf("%s, %s: %w", s.subject.Name(), shape.Name, err))
				}
				o.Progress(sample.line(shape.Name))
				*s.samples = append(*s.samples, sample)
			}
		}
		c.add(row)
	}
	return c, failed
}

// add completes a row. One without a whole pair, cut short by the end of the context, is left out.
func (c *Comparison) add(row Row) {
	pairs := min(len(row.Subject), len(row.Yardstick))
	if pairs == 0 {
		return
	}
	row.Subject, row.Yardstick = row.Subject[:pairs], row.Yardstick[:pairs]
	row.Ratio = ratios(row.Subject, row.Yardstick, func(s Sample) float64 { return s.PerS })
	row.CPURatio = ratios(row.Subject, row.Yardstick, func(s Sample) float64 { return s.CPUPerMsgUS })
	c.Rows = append(c.Rows, row)
}

// line is the sample in one line, for progress.
func (s *Sample) line(shape string) string {
	if s.Failed != "" {
		return fmt.Sprintf("%-10s %-26s failed: %s", s.Subject, shape, s.Failed)
	}
	return fmt.Sprintf("%-10s %-26s %8.0f msgs/s  p50 %.2f ms  p99 %.2f ms", s.Subject, shape, s.PerS, s.P50MS, s.P99MS)
}

// syncSpan is how long the disk alone is measured before each sample.
const syncSpan = 300 * time.Millisecond

func (o *Options) measure(ctx context.Context, s Subject, shape Shape) (sample Sample, err error) {
	sample.Subject = s.Name()
	dir, err := os.MkdirTemp(o.Dir, "fleet-bench-")
	if err != nil {
		return sample, err
	}
	defer func() { err = errors.Join(err, s.Stop(ctx), os.RemoveAll(dir)) }()
	if sample.SyncsPerSBeside, err = SyncRate(dir, syncSpan); err != nil {
		return sample, err
	}
	target, err := s.Start(ctx, dir)
	if err != nil {
		return sample, err
	}
	var before, after Usage
	sample.Measured, err = Generate(
		ctx, target, shape, o.Length,
		func() { before = UsageOf(s.PIDs()) }, func() { after = UsageOf(s.PIDs()) },
	)
	if err != nil {
		return sample, err
	}
	n := float64(max(sample.Messages, 1))
	sample.CPUPerMsgUS = float64((after.CPU - before.CPU).Microseconds()) / n
	sample.WrittenPerMsg = float64(after.Written-before.Written) / n
	sample.ResidentMiB = mib(after.RSS)
	return sample, nil
}

// ratios compares pair by pair: what the machine did meanwhile hit both of a pair.
func ratios(a, b []Sample, of func(Sample) float64) Spread {
	var all []float64
	for i := range a {
		if d := of(b[i]); d > 0 && a[i].Failed == "" && b[i].Failed == "" {
			all = append(all, of(a[i])/d)
		}
	}
	return spread(all)
}

func spread(all []float64) Spread {
	if len(all) == 0 {
		return Spread{}
	}
	slices.Sort(all)
	return Spread{all[0], all[len(all)/2], all[len(all)-1]}
}
