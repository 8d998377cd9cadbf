package e2etest

import (
	"bytes"
	"strings"
	"sync"
)

// Logbook collects what workers log, lines of the Temporal SDK included.
type Logbook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *Logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String is the whole log so far.
func (l *Logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Has reports whether the log contains a text.
func (l *Logbook) Has(text string) bool { return strings.Contains(l.String(), text) }
