package tcpproxy

import "sync"

// Verdict is the fate of a piece of data.
type Verdict int

const (
	// Forward forwards the data.
	Forward Verdict = iota
	// Drop loses the data and keeps the connection.
	Drop
	// Cut loses the data and resets the connection.
	Cut
)

// Watch sees the data of a connection before it is forwarded, in pieces of any size. Different goroutines call the two methods. They must
// not keep the slice.
type Watch interface {
	// Request gets data for the target.
	Request(piece []byte) Verdict
	// Answer gets data from the target.
	Answer(piece []byte) Verdict
}

// swallowed cuts the connection at each of the next left answers.
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
