package player

import "testing"

func TestCapturedChats(t *testing.T) {
	chats, err := CapturedChats("chat-broadcast", "client-msg-id-retry")
	if err != nil {
		t.Fatal(err)
	}
	extras, files := 0, map[string]int{}
	for _, c := range chats {
		if c.From == "" || c.Text == "" {
			t.Errorf("not a chat: %+v", c)
		}
		extras += len(c.Extra)
		files[c.File]++
	}
	if files["chat-broadcast"] < 3 || files["client-msg-id-retry"] < 7 || extras < 4 {
		t.Errorf("%d extra members, chats %v", extras, files)
	}
}
