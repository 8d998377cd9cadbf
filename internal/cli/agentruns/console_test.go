package agentruns

import "testing"

// TestInterruptAfterALine: Ctrl-C right after a line interrupts the turn that the line begins. If the line begins no turn, Ctrl-C leaves the
// chat.
func TestInterruptAfterALine(t *testing.T) {
	t.Parallel()
	for _, begins := range []bool{true, false} {
		term := &terminal{keys: newKeys(), pressed: make(chan struct{}, 1), prompts: make(chan string, 1)}
		isEmpty := true
		for _, key := range []byte("more\r\x03") {
			isEmpty = term.pressKey(key, isEmpty)
		}
		if begins {
			term.setBusy(true)
			term.setBusy(false)
		}
		term.ask("> ")
		typed := string(term.keys.typed)
		left := typed == "more\r"+endOfInput
		if interrupted := len(term.pressed) == 1; interrupted != begins || left == begins {
			t.Errorf("a line that begins something (%t): interrupted %t, the keys are %q", begins, interrupted, typed)
		}
	}
}
