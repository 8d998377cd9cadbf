package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestVolume: a server that sends faster than the bound is read no faster than it, also if it sends few lines.
func TestVolume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := newIntake(t.Context(), newFlow())
		in.calls.Add(1)
		line := strings.Repeat(" ", maxMessage-2) + "\n"
		const lines = 10
		began := time.Now()
		n, err := io.Copy(io.Discard, in.reader(strings.NewReader(strings.Repeat(line, lines)), false))
		if err != nil || n != int64(lines*len(line)) {
			t.Fatalf("%d bytes, %v", n, err)
		}
		// Two messages are read at once, and the others one in each second.
		if took := time.Since(began); took < 7*time.Second || took > 9*time.Second {
			t.Errorf("%d MiB took %s", n>>20, took)
		}
	})
}

// endCall is an empty reader that ends a call when it is read.
type endCall struct{ in *intake }

func (e endCall) Read([]byte) (int, error) {
	e.in.calls.Add(-1)
	return 0, io.EOF
}

// TestLateAnswer: the end of a call does not lower the bound of a message that the server sends at that time. It lowers the
// bound of the next message.
func TestLateAnswer(t *testing.T) {
	t.Parallel()
	before, after := strings.Repeat("x", maxIdleMessage+1), strings.Repeat("x", maxIdleMessage)
	for sent, want := range map[string]error{
		after + "\n" + after + "\n":                          nil,
		after + "\n" + before:                                errTooLarge,
		strings.Repeat("x", maxMessage-len(before)) + "\n":   nil,
		strings.Repeat("x", maxMessage-len(before)+1) + "\n": errTooLarge,
	} {
		in := newIntake(t.Context(), newFlow())
		in.calls.Add(1)
		n, err := io.Copy(io.Discard, in.reader(io.MultiReader(strings.NewReader(before), endCall{in}, strings.NewReader(sent)), false))
		if !errors.Is(err, want) || err == nil && n != int64(len(before)+len(sent)) {
			t.Errorf("of %d bytes, %d after the call: %d bytes, %v, want %v", len(before)+len(sent), len(sent), n, err, want)
		}
	}
}

// TestEndIsBounded: the end of a session does not wait for what never ends.
func TestEndIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		for name, c := range map[string]struct {
			orderly func(forced <-chan struct{})
			want    time.Duration
		}{
			"in order":     {func(<-chan struct{}) {}, 0},
			"by force":     {func(forced <-chan struct{}) { <-forced }, closeTime},
			"does not end": {func(<-chan struct{}) { <-release }, 2 * closeTime},
		} {
			forced := make(chan struct{})
			began := time.Now()
			endWithin(closeTime, func() { c.orderly(forced) }, func() { close(forced) })
			if took := time.Since(began); took != c.want {
				t.Errorf("%s: it took %s", name, took)
			}
			<-forced
		}
	})
}

// TestProcessThatCannotBeKilled: a process whose end is never seen, as of a process that hangs in the kernel, does not
// hold the stop of its source.
func TestProcessThatCannotBeKilled(t *testing.T) {
	t.Parallel()
	p, err := startProcess(Server{Command: "sleep", Args: []string{"60"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	unseen := &process{cmd: p.cmd, in: p.in, out: p.out, exited: make(chan struct{})}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		unseen.close()
	}()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		t.Error("the end of the process does not return")
		close(unseen.exited)
	}
	<-p.exited
}
