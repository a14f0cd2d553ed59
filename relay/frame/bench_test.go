package frame

import (
	"bytes"
	"testing"
)

// One operation is one record out and in again: origin block appended and parsed, and its share of the frame.
func BenchmarkRecord(b *testing.B) {
	for _, n := range []int{1, 16, 256} {
		b.Run(map[int]string{1: "alone", 16: "of16", 256: "of256"}[n], func(b *testing.B) {
			var batch Batch
			var parser OriginParser
			var out bytes.Buffer
			body := bytes.Repeat([]byte("x"), 400)
			o := origin1()
			src := bytes.NewReader(nil)
			in := NewReader(src, 1<<20)
			b.ReportAllocs()
			for i := 0; i < b.N; i += n {
				batch.Reset(uint64(i + 1))
				for j := range n {
					o.Seq = uint64(i + j + 1)
					batch.Add(&o, body)
				}
				out.Reset()
				_ = batch.Chunks(func(p []byte) error { out.Write(p); return nil })
				src.Reset(out.Bytes())
				f, err := in.Next()
				if err != nil {
					b.Fatal(err)
				}
				rs, err := ParseRecords(f)
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range rs.Items {
					if _, err := parser.Parse(r.Origin); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func BenchmarkOriginAppend(b *testing.B) {
	o := origin1()
	var dst []byte
	for b.Loop() {
		dst = o.Append(dst[:0])
	}
}

func BenchmarkOriginParse(b *testing.B) {
	o := origin1()
	in := o.Append(nil)
	var p OriginParser
	for b.Loop() {
		if _, err := p.Parse(in); err != nil {
			b.Fatal(err)
		}
	}
}
