package e2etest

import (
	"bytes"
	"strings"
	"sync"
)

// logbook is what workers have logged, the Temporal SDK included.
type logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write adds to the book.
func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is everything so far.
func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logbook) has(text string) bool { return strings.Contains(l.String(), text) }
