package tcpproxy

import (
	"bytes"
	"encoding/binary"
	"strings"
	"sync"
)

// Loss loses the answer of a statement after Postgres has committed it: the server is done, and the client never hears of it.
type Loss struct {
	mu       sync.Mutex
	fragment string
	left     int
	lost     int
	seen     int
}

// LoseAnswers loses the next n answers of statements whose SQL contains the fragment, over all connections made from now on. A connection
// must not be encrypted.
func (p *Proxy) LoseAnswers(fragment string, n int) *Loss {
	loss := &Loss{fragment: fragment, left: n}
	p.Watch(func() Watch { return &session{loss: loss, statements: map[string]bool{}} })
	return loss
}

// Lost is how many answers were lost whose statement succeeded.
func (l *Loss) Lost() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Seen is how often the statement was sent.
func (l *Loss) Seen() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.seen
}

func (l *Loss) take() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen++
	if l.left == 0 {
		return false
	}
	l.left--
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
	started    bool            // the first message of a client has no type
	statements map[string]bool // prepared ones by name: do they contain the fragment?
	armed      bool
	completed  bool // the armed statement said CommandComplete, and nothing failed
}

// Request notes which statements are prepared and run.
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
			s.statements[name] = strings.Contains(sql, s.loss.fragment)
		case 'B': // Bind: portal, name
			_, rest := text(body)
			name, _ := text(rest)
			s.runs(s.statements[name])
		case 'Q': // Query: SQL
			sql, _ := text(body)
			s.runs(strings.Contains(sql, s.loss.fragment))
		}
	}
}

func (s *session) runs(matches bool) {
	if matches && s.loss.take() {
		s.armed, s.completed = true, false
	}
}

// Answer drops what answers an armed statement, and cuts where the server says that its transaction is over. CommandComplete alone is
// before the commit of an implicit transaction; ReadyForQuery is behind it.
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

// messages cuts a stream into messages: a type, a length that counts itself, a body.
type messages struct{ buffer []byte }

func (m *messages) add(piece []byte) { m.buffer = append(m.buffer, piece...) }

// untyped takes the startup message.
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

// text takes a string that ends with a zero byte.
func text(b []byte) (s string, rest []byte) {
	before, after, _ := bytes.Cut(b, []byte{0})
	return string(before), after
}
