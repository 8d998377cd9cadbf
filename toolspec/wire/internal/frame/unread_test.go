package frame

import "testing"

// TestUnread: a surrogate pair that two strings share is one character, and half of one is not given.
func TestUnread(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"plain", []string{"a", "", "b"}, []string{"a", "", "b"}},
		{"escapes", []string{`a\n`, `\"b\u00e4`}, []string{"a\n", "\"bä"}},
		{"pair in one", []string{`\ud83d\ude00`}, []string{"😀"}},
		{"pair in two", []string{`a\ud83d`, `\ude00b`}, []string{"a", "😀b"}},
		{"upper case", []string{`\uD83D`, `\uDE00`}, []string{"", "😀"}},
		{"low surrogate", []string{`a\ude00`, "b"}, []string{"a\uFFFD", "b"}},
		{"escaped backslash", []string{`\\ud83d`, "b"}, []string{`\ud83d`, "b"}},
		{"backslash and half", []string{`\\\ud83d`, `\ude00`}, []string{`\`, "😀"}},
		{"no escape", []string{"xud83d", "b"}, []string{"xud83d", "b"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var u Unread
			for i, piece := range test.pieces {
				u.Add([]byte(piece))
				if got := u.Take(); got != test.want[i] {
					t.Errorf("piece %d gives %q, want %q", i, got, test.want[i])
				}
			}
		})
	}
}
