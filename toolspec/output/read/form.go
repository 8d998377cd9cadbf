package read

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/toolspec/output"
	"github.com/pawl-run/pawl/toolspec/strictjson"
)

// formedChunk is about how large the chunks of a formed text are, in bytes.
const formedChunk = 64 << 10

// form returns the value at a pointer as text: a string as its content, and any other value indented. It holds one token of the JSON
// in memory.
func form(raw chunks, pointer string) (chunks, error) {
	at, err := locate(raw, pointer)
	if err != nil {
		return nil, err
	}
	return func(output.Position) iter.Seq2[output.Chunk, error] {
		return func(yield func(output.Chunk, error) bool) {
			in := newReader(raw, at)
			defer in.stop()
			in.skip(" \t\r\n,:")
			dec := in.newDecoder()
			w := sink{yield: yield}
			if err := w.copyValue(dec); err != nil && !errors.Is(err, errStopped) {
				yield(output.Chunk{}, asNotJSON(err))
			}
		}
	}, nil
}

// sink yields what is written as chunks.
type sink struct {
	yield func(output.Chunk, error) bool
	held  []byte
	next  output.Chunk
}

// errStopped says that nobody wants further chunks.
var errStopped = errors.New("read: stopped")

func (s *sink) Write(p []byte) (int, error) {
	s.held = append(s.held, p...)
	if len(s.held) < formedChunk {
		return len(p), nil
	}
	return len(p), s.flush()
}

func (s *sink) flush() error {
	c := s.next
	c.Data = s.held
	s.next.FirstByte += int64(len(s.held))
	s.next.FirstLine += int64(bytes.Count(s.held, []byte{'\n'}))
	s.held = nil
	if len(c.Data) > 0 && !s.yield(c, nil) {
		return errStopped
	}
	return nil
}

func (s *sink) copyValue(dec *jsontext.Decoder) error {
	if dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		for text := token.String(); len(text) > 0; {
			n := min(formedChunk, len(text))
			if _, err := io.WriteString(s, text[:n]); err != nil {
				return err
			}
			text = text[n:]
		}
		return s.flush()
	}
	enc := jsontext.NewEncoder(s, jsontext.WithIndent("  "), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return err
		}
		if err := enc.WriteToken(token); err != nil {
			return err
		}
		switch depth := dec.StackDepth(); {
		case depth == 0:
			return s.flush()
		case depth > strictjson.MaxDepth:
			return ErrTooDeep
		}
	}
}

// locate returns where in the output a value begins, in bytes; a comma, a colon and spaces may be before the value.
func locate(raw chunks, pointer string) (int64, error) {
	names, err := splitPointer(pointer)
	if err != nil {
		return 0, err
	}
	in := newReader(raw, 0)
	defer in.stop()
	dec := in.newDecoder()
	for _, name := range names {
		if err := enter(dec, name); err != nil {
			return 0, asNotJSON(err)
		}
	}
	if dec.PeekKind() == 0 {
		_, err := dec.ReadToken()
		return 0, asNotJSON(err)
	}
	return dec.InputOffset(), nil
}

// enter reads up to the member or the element of the next value.
func enter(dec *jsontext.Decoder, name string) error {
	token, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if token.Kind() == '[' {
		return enterElement(dec, name)
	}
	if token.Kind() != '{' {
		return ErrNoValue
	}
	for {
		token, err := dec.ReadToken()
		switch {
		case err != nil:
			return err
		case token.Kind() == '}':
			return ErrNoValue
		case token.String() == name:
			return nil
		}
		if err := dec.SkipValue(); err != nil {
			return err
		}
	}
}

func enterElement(dec *jsontext.Decoder, name string) error {
	index, err := strconv.ParseUint(name, 10, 63)
	if err != nil || strconv.FormatUint(index, 10) != name {
		return ErrNoValue
	}
	for ; ; index-- {
		switch kind := dec.PeekKind(); {
		case kind == ']':
			return ErrNoValue
		case kind != 0 && index == 0:
			return nil
		}
		if err := dec.SkipValue(); err != nil {
			return err
		}
	}
}

// splitPointer returns the names in a JSON pointer.
func splitPointer(pointer string) (names []string, err error) {
	if pointer == "" {
		return nil, nil
	}
	if pointer[0] != '/' {
		return nil, ErrBadPointer
	}
	for name := range strings.SplitSeq(pointer[1:], "/") {
		plain := strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if strings.Count(name, "~") != strings.Count(name, "~0")+strings.Count(name, "~1") {
			return nil, ErrBadPointer
		}
		names = append(names, plain)
	}
	return names, nil
}

// asNotJSON returns ErrNotJSON for a fault in the syntax, without its text, which may quote the output.
func asNotJSON(err error) error {
	var syntax *jsontext.SyntacticError
	switch {
	case errors.Is(err, ErrTooLong):
		return ErrTooLong
	case errors.As(err, &syntax), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return ErrNotJSON
	}
	return err
}
