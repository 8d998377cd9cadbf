package tcpproxy

import "sync"

// Verdict is what becomes of a piece of data.
type Verdict int

const (
	// Forward passes it on.
	Forward Verdict = iota
	// Drop loses it and goes on.
	Drop
	// Cut loses it and resets the connection.
	Cut
)

// Watch sees the data of a connection before it goes on, in pieces of any size. The two methods are called by different goroutines; they
// must not keep the slice.
type Watch interface {
	// Request sees what goes to the target.
	Request(piece []byte) Verdict
	// Answer sees what comes back.
	Answer(piece []byte) Verdict
}

// swallowed cuts in place of the next answers.
type swallowed struct {
	mu   sync.Mutex
	left int
}

func (s *swallowed) Request([]byte) Verdict { return Forward }

func (s *swallowed) Answer([]byte) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left == 0 {
		return Forward
	}
	s.left--
	return Cut
}
