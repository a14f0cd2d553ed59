package checker

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"fleetrelay/hub/wire"
)

// exportReader is readExport, reportParser ParseReport, or one with a planted bug.
type (
	exportReader func(*Report, io.Reader) (*journal, error)
	reportParser func([]byte) (*Report, error)
)

// exportFault holds that of an export that is read no line was passed over, that its sequence has no gap, and that what
// is wrong with a line by itself was reported.
func exportFault(text []byte, read exportReader) string {
	r := newReport()
	j, err := read(r, bytes.NewReader(text))
	if err != nil {
		return ""
	}
	seqs, lines, chats, twice, altered := map[uint64]bool{}, 0, 0, 0, 0
	for line := range bytes.Lines(text) {
		var e struct {
			Seq    uint64  `json:"seq"`
			Kind   string  `json:"kind"`
			Digest string  `json:"digest"`
			Body   *string `json:"body"`
			Base64 bool    `json:"base64"`
		}
		if err := wire.UnmarshalLax(bytes.TrimSuffix(line, []byte("\n")), &e); err != nil || e.Kind == "" {
			return fmt.Sprintf("the line %.100q was passed over: %v", line, err)
		}
		lines++
		if seqs[e.Seq] {
			twice++
		}
		if e.Seq > j.head {
			return fmt.Sprintf("seq %d is beyond the head %d", e.Seq, j.head)
		}
		seqs[e.Seq] = true
		if e.Kind != kindChatAccepted {
			continue
		}
		chats++
		if e.Body != nil && digestOfBody(*e.Body, e.Base64) != e.Digest {
			altered++
		}
	}
	if r.Totals.Events != lines || r.Totals.Records != chats || j.hub == "" || j.epochs[j.epoch] == 0 && len(j.epochs) == 0 {
		return fmt.Sprintf("%d lines with %d chats are read as %+v of hub %q", lines, chats, r.Totals, j.hub)
	}
	if uint64(len(seqs)) != j.head || seqs[0] || len(j.chats) > chats {
		return fmt.Sprintf("%d sequences up to %d", len(seqs), j.head)
	}
	if r.Counts[DeliveredTwice] < twice || r.Counts[Altered] != altered {
		return fmt.Sprintf("%d sequences twice and %d bodies altered, reported are %v", twice, altered, r.Counts)
	}
	return ""
}

func digestOfBody(text string, encoded bool) string {
	body := []byte(text)
	if encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(text); err != nil {
			body = nil
		}
	}
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// exportSeeds are the first events of an everyday history, and exports that no hub writes. They are short: the fuzzer
// spends its time on making each that is of interest shorter.
func exportSeeds(t testing.TB) (seeds [][]byte) {
	for _, path := range everyday().write(t, t.TempDir()).Exports {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, bytes.Join(bytes.SplitAfterN(text, []byte("\n"), 7)[:6], nil))
	}
	one := `{"seq":1,"kind":"epoch_started","time_us":1,"record":{"hub_id":"h","number":1,"id":"0a"}}` + "\n"
	for _, more := range []string{
		"", one, "{}\n", "null\n", "nonsense\n", `{"seq":2}` + "\n", `{"seq":3,"kind":"x"}` + "\n", `{"seq":2,"kind":"x"`,
		`{"seq":2,"kind":"chat_accepted","digest":"00","body":"{}","record":{"msg_id":1}}` + "\n",
		`{"seq":2,"kind":"chat_accepted","digest":"","body":"!","base64":true,"record":{"msg_id":1,"dest":"x","origin":{"hub":"y"}}}` + "\n",
		`{"seq":2,"kind":"epoch_started","record":{"hub_id":"other"}}` + "\n",
	} {
		seeds = append(seeds, []byte(one+more))
	}
	return append(seeds, nil)
}

func FuzzExport(f *testing.F) {
	for _, text := range exportSeeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if fault := exportFault(text, readExport); fault != "" {
			t.Fatal(fault)
		}
	})
}

// reportFault holds that a report that is read says what it shows, and the same when it is written again.
func reportFault(line []byte, parse reportParser) string {
	r, err := parse(line)
	if err != nil {
		return ""
	}
	sum := len(r.Incomplete)
	for word, n := range r.Counts {
		if n < 0 || !strings.Contains(fmt.Sprint(Words()), string(word)) {
			return fmt.Sprintf("%q is counted %d times", word, n)
		}
		sum += n
	}
	if len(r.Counts) != len(Words()) || r.OK() != (sum == 0) || len(r.Findings) > sum {
		return fmt.Sprintf("%.200q is taken for a verdict", line)
	}
	var out, again bytes.Buffer
	if err := r.WriteJSON(&out); err != nil {
		return err.Error()
	}
	second, err := parse(bytes.TrimSpace(out.Bytes()))
	if err != nil {
		return fmt.Sprintf("%.200q is written %.200q: %v", line, out.Bytes(), err)
	}
	if err := second.WriteJSON(&again); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		return fmt.Sprintf("%.200q is written %.200q, then %.200q", line, out.Bytes(), again.Bytes())
	}
	return ""
}

func reportSeeds(t testing.TB) (seeds [][]byte) {
	bad := newReport()
	for range shownPerWord + 2 {
		bad.add(Finding{Word: Order, Hub: "h", Seq: 1, Detail: "x"})
	}
	missing := newReport()
	missing.incomplete("no client logs")
	for _, r := range []*Report{newReport(), bad, missing} {
		var out bytes.Buffer
		if err := r.WriteJSON(&out); err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, bytes.TrimSpace(out.Bytes()), bytes.ReplaceAll(bytes.TrimSpace(out.Bytes()), []byte(`"altered":0`), []byte(`"altered":-1`)))
	}
	for _, s := range []string{`{"ok":true}`, `{"ok":false}`, `{}`, `null`, `{"ok":true,"counts":{}}`, `{"ok":true,"counts":{"other":0}}`, ``} {
		seeds = append(seeds, []byte(s))
	}
	return seeds
}

func FuzzReport(f *testing.F) {
	for _, line := range reportSeeds(f) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if fault := reportFault(line, ParseReport); fault != "" {
			t.Fatal(fault)
		}
	})
}

// The bodies above find planted bugs among their own seeds, and nothing in what ships.
func TestFuzzBodiesFindPlantedBugs(t *testing.T) {
	exports, reports := exportSeeds(t), reportSeeds(t)
	overExports := func(read exportReader) (faults string) {
		for _, text := range exports {
			faults += exportFault(text, read)
		}
		return faults
	}
	overReports := func(parse reportParser) (faults string) {
		for _, line := range reports {
			faults += reportFault(line, parse)
		}
		return faults
	}
	if faults := overExports(readExport) + overReports(ParseReport); faults != "" {
		t.Errorf("what ships: %s", faults)
	}
	filtered := func(keep func(line []byte) []byte) exportReader {
		return func(r *Report, in io.Reader) (*journal, error) {
			text, err := io.ReadAll(in)
			if err != nil {
				return nil, err
			}
			var kept []byte
			for line := range bytes.Lines(text) {
				kept = append(kept, keep(line)...)
			}
			return readExport(r, bytes.NewReader(kept))
		}
	}
	for name, read := range map[string]exportReader{
		"bad lines are passed over": filtered(func(line []byte) []byte {
			var e exportLine
			if wire.UnmarshalLax(line, &e) != nil || e.Seq == 0 {
				return nil
			}
			return line
		}),
		"a torn line is passed over": filtered(func(line []byte) []byte {
			if !bytes.HasSuffix(line, []byte("\n")) {
				return nil
			}
			return line
		}),
		"bodies are not looked at": filtered(func(line []byte) []byte { return bytes.ReplaceAll(line, []byte(`"body"`), []byte(`"no"`)) }),
		"gaps are closed":          filtered(func(line []byte) []byte { return bytes.Replace(line, []byte(`"seq":3`), []byte(`"seq":2`), 1) }),
	} {
		if overExports(read) == "" {
			t.Errorf("export: %s: not found", name)
		}
	}
	trusting := func(line []byte) (*Report, error) { // takes the word ok for the verdict
		var v view
		if err := wire.Unmarshal(line, &v); err != nil || v.OK != v.Report.OK() {
			return nil, errNoEpoch
		}
		return &v.Report, nil
	}
	if overReports(trusting) == "" {
		t.Error("report: half an answer: not found")
	}
}
