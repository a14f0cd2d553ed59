package wire

import (
	"strings"
	"testing"
)

// benchChat is a chat of 441 bytes, the size real agents' chats have in the middle.
func benchChat(tb testing.TB) []byte {
	const head = `{"sender": "proj/writer-1", "target": "proj/reviewer-2", "type": "chat", "payload": "`
	const tail = `", "timestamp": 1796063279.279, "receipt_requested": true, "client_msg_id": "01KE-7Q5M-000042", ` +
		`"priority": false, "metadata": {"thread": "t-17", "tags": ["review", "wire"], "attempt": 2}}`
	frame := head + strings.Repeat("m", 441-len(head)-len(tail)) + tail
	if len(frame) != 441 {
		tb.Fatalf("frame has %d bytes", len(frame))
	}
	return []byte(frame)
}

func BenchmarkParseObject(b *testing.B) {
	frame := benchChat(b)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ParseObject(frame, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParseChat(b *testing.B) {
	frame := benchChat(b)
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		in, bad := ParseInbound(frame, Limits{})
		if bad != nil {
			b.Fatal(bad)
		}
		if _, bad = in.Chat(); bad != nil {
			b.Fatal(bad)
		}
	}
}

func BenchmarkChatFrameAppend(b *testing.B) {
	in, _ := ParseInbound(benchChat(b), Limits{})
	c, _ := in.Chat()
	f := ChatFrame{
		Sender: in.Sender, Target: c.Target, HasTarget: true, HubID: "hub-1.example.org",
		MsgID: 42, Seq: 97, TimeUS: 1796063279280302, Body: c.Body,
	}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		out = f.Append(out[:0])
	}
}

func BenchmarkTargetMatches(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		t := CompileTarget("proj/reviewer-2")
		if !t.Matches("proj/reviewer-2", nil) {
			b.Fatal("no match")
		}
	}
}

func BenchmarkLaneLink(b *testing.B) {
	l := LaneLink{Seq: 7, MsgID: 9, Sender: "proj/a", Principal: "open", Target: "proj/b@hub-2"}
	var h [32]byte
	b.ReportAllocs()
	for b.Loop() {
		h = l.Next(h)
	}
}
