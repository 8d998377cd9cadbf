package read

import (
	"context"
	"errors"
	"io"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pawl-run/pawl/toolspec/output"
)

// MaxSlice bounds the bytes that Bytes returns.
const MaxSlice = 1 << 20

// Slice is a part of an output by bytes.
type Slice struct {
	// Info describes the whole output.
	Info output.Info
	// At is the offset of Data in the output.
	At   int64
	Data []byte
	// Next is the offset to go on with, and 0 at the end of the output.
	Next int64
}

// Bytes returns up to limit bytes of an output from an offset on, at most MaxSlice. The error is output.ErrNotFound, output.ErrExpired,
// ErrPastEnd if the output ends before the offset, or an error of r.
func Bytes(ctx context.Context, r output.Reader, tenantID, ref string, offset int64, limit int) (Slice, error) {
	info, err := r.Info(ctx, tenantID, ref)
	if err != nil {
		return Slice{}, err
	}
	if offset < 0 || offset > info.Bytes || offset == info.Bytes && offset > 0 {
		return Slice{}, ErrPastEnd
	}
	s := Slice{Info: info, At: offset, Data: make([]byte, 0, min(int64(limit), MaxSlice, info.Bytes-offset))}
	in := NewReader(ctx, r, tenantID, ref, offset)
	defer func() { _ = in.Close() }() // it returns nil
	n, err := io.ReadFull(in, s.Data[:cap(s.Data)])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Slice{}, err
	}
	s.Data = s.Data[:n]
	if end := offset + int64(n); end < info.Bytes {
		s.Next = end
	}
	return s, nil
}

// NewReader returns the bytes of an output from an offset on. It holds one chunk in memory. Close it after use.
func NewReader(ctx context.Context, r output.Reader, tenantID, ref string, offset int64) io.ReadCloser {
	return newReader(func(from output.Position) iter.Seq2[output.Chunk, error] { return r.Chunks(ctx, tenantID, ref, from) }, offset)
}

// reader reads chunks as a stream.
type reader struct {
	next func() (output.Chunk, error, bool)
	stop func()
	at   int64
	rest []byte
	// read counts the bytes that the reader has returned. dec, if not nil, reads from the reader.
	read int64
	dec  *jsontext.Decoder
}

func newReader(raw chunks, at int64) *reader {
	next, stop := iter.Pull2(raw(output.Position{Byte: at}))
	return &reader{next: next, stop: stop, at: at}
}

// newDecoder returns a decoder that reads JSON from r. From then on Read returns ErrTooLong if a token of the JSON has more
// than MaxToken bytes.
func (r *reader) newDecoder() *jsontext.Decoder {
	r.dec = jsontext.NewDecoder(r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	return r.dec
}

// fill makes rest not empty. The error is io.EOF at the end.
func (r *reader) fill() error {
	for len(r.rest) == 0 {
		c, err, ok := r.next()
		switch {
		case !ok:
			return io.EOF
		case err != nil:
			return err
		}
		r.rest = c.Data[min(max(0, r.at-c.FirstByte), int64(len(c.Data))):]
	}
	return nil
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.dec != nil && r.read-r.dec.InputOffset() > MaxToken {
		return 0, ErrTooLong
	}
	if err := r.fill(); err != nil {
		return 0, err
	}
	n := copy(p, r.rest)
	r.rest, r.read = r.rest[n:], r.read+int64(n)
	return n, nil
}

// skip reads past the bytes of a set.
func (r *reader) skip(set string) {
	for r.fill() == nil {
		if !strings.ContainsRune(set, rune(r.rest[0])) {
			return
		}
		r.rest = r.rest[1:]
	}
}

// Close ends reading. It returns nil.
func (r *reader) Close() error {
	r.stop()
	return nil
}
