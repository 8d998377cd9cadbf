package tcpproxy

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"
)

// Loss loses answers to statements after Postgres has committed them: the statement has taken effect, and the client does not know it.
type Loss struct {
	mu   sync.Mutex
	left map[string]int // by fragment
	lost int
	seen int
}

// LoseAnswers loses the next n answers to statements whose SQL contains a fragment, for each of the fragments. It affects connections made
// from now on. They must not be encrypted.
func (p *Proxy) LoseAnswers(n int, fragments ...string) *Loss {
	loss := &Loss{left: map[string]int{}}
	for _, f := range fragments {
		loss.left[f] = n
	}
	p.Watch(func() Watch { return &session{loss: loss, statements: map[string]string{}} })
	return loss
}

// Lost returns the number of lost answers to statements that succeeded.
func (l *Loss) Lost() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Seen returns how often a statement with a fragment was sent.
func (l *Loss) Seen() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

// of returns the fragment that a statement contains, or "".
func (l *Loss) of(sql string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for fragment := range l.left {
		if strings.Contains(sql, fragment) {
			return fragment
		}
	}
	return ""
}

func (l *Loss) take(fragment string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen++
	if l.left[fragment] == 0 {
		return false
	}
	l.left[fragment]--
	return true
}

func (l *Loss) note() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lost++
}

// session is one connection to Postgres.
type session struct {
	loss *Loss

	mu         sync.Mutex
	requests   messages
	answers    messages
	started    bool              // the first message of a client has no type
	statements map[string]string // prepared statements by name, with the fragment that they contain
	armed      bool
	completed  bool // Postgres sent CommandComplete for the armed statement
}

// Request records which statements are prepared and run.
func (s *session) Request(piece []byte) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests.add(piece)
	if !s.started {
		if !s.requests.untyped() {
			return Forward
		}
		s.started = true
	}
	for {
		kind, body, ok := s.requests.next()
		if !ok {
			return Forward
		}
		switch kind {
		case 'P': // Parse: name, SQL
			name, rest := text(body)
			sql, _ := text(rest)
			s.statements[name] = s.loss.of(sql)
		case 'B': // Bind: portal, name
			_, rest := text(body)
			name, _ := text(rest)
			s.runs(s.statements[name])
		case 'Q': // Query: SQL
			sql, _ := text(body)
			s.runs(s.loss.of(sql))
		}
	}
}

func (s *session) runs(fragment string) {
	if fragment != "" && s.loss.take(fragment) {
		s.armed, s.completed = true, false
	}
}

// Answer drops the answer to an armed statement, and cuts the connection when its transaction has ended. CommandComplete comes before the
// commit of an implicit transaction, ReadyForQuery after it.
func (s *session) Answer(piece []byte) Verdict {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers.add(piece)
	verdict := Forward
	if s.armed {
		verdict = Drop
	}
	for {
		kind, _, ok := s.answers.next()
		switch {
		case !ok:
			return verdict
		case !s.armed:
		case kind == 'C':
			s.completed = true
		case kind == 'E':
			s.completed, s.armed = false, false
			return Cut
		case kind == 'Z':
			if s.completed {
				s.loss.note()
			}
			return Cut
		}
	}
}

// messages splits a stream into messages: a type, a length that includes itself, a body.
type messages struct{ buffer []byte }

func (m *messages) add(piece []byte) { m.buffer = append(m.buffer, piece...) }

// untyped removes the startup message, which has no type.
func (m *messages) untyped() bool {
	if len(m.buffer) < 4 {
		return false
	}
	size := int(binary.BigEndian.Uint32(m.buffer))
	if len(m.buffer) < size {
		return false
	}
	m.buffer = m.buffer[size:]
	return true
}

func (m *messages) next() (kind byte, body []byte, ok bool) {
	if len(m.buffer) < 5 {
		return 0, nil, false
	}
	size := 1 + int(binary.BigEndian.Uint32(m.buffer[1:]))
	if len(m.buffer) < size {
		return 0, nil, false
	}
	kind, body = m.buffer[0], m.buffer[5:size]
	m.buffer = m.buffer[size:]
	return kind, body, true
}

// text reads a string that ends with a zero byte.
func text(b []byte) (s string, rest []byte) {
	before, after, _ := bytes.Cut(b, []byte{0})
	return string(before), after
}
