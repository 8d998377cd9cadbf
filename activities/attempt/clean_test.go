package attempt

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
)

const credential = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

func liveSet(t *testing.T) *fingerprint.Set {
	t.Helper()
	s := &fingerprint.Set{}
	if err := s.Add("token", []byte(credential)); err != nil {
		t.Fatal(err)
	}
	return s
}

// cleanStream pushes data in writes of the sizes that next returns, and returns the bytes that may be stored.
func cleanStream(c *cleaner, data []byte, next func() int) (stored []byte, err error) {
	emit := func(p []byte) error {
		stored = append(stored, p...)
		return nil
	}
	for len(data) > 0 {
		n := min(len(data), next())
		if err := c.push(data[:n], false, emit); err != nil {
			return stored, err
		}
		data = data[n:]
	}
	return stored, c.push(nil, true, emit)
}

func masker(t *testing.T, with ...toolspec.Masker) *toolspec.StreamMasker {
	t.Helper()
	m, err := toolspec.Redaction{MaskStream: with}.Stream()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestNothingIsCutOutOfASecret: no part of a credential or of a text to mask is stored, at whatever place the
// stream is split into parts.
func TestNothingIsCutOutOfASecret(t *testing.T) {
	t.Parallel()
	filler := []byte(strings.Repeat("a line of a log that says little, number after number: 12 34 ", 1+2*cleanBlock/60))
	const email = "ann.lee@mail.example.org"
	spaced := func(text string) string { return " " + text + " " }
	hidden := map[string][]string{
		credential: {credential}, hex.EncodeToString([]byte(credential)): {hex.EncodeToString([]byte(credential))},
		base64.StdEncoding.EncodeToString([]byte("x:" + credential)): {base64.RawStdEncoding.EncodeToString([]byte("x:" + credential))[4:40]},
		spaced(email): {"ann.lee", "example.org", "ple.org"}, spaced("4111 1111 1111 1111"): {"4111 1111", "1111 1111"},
	}
	for text, never := range hidden {
		// A block ends at its size or, for a stream with masks, up to 4096 bytes earlier.
		for _, before := range []int{1, 20, len(text) / 2, len(text) - 1, 4097, 4096 + len(text)/2, 4095 + len(text), 10_000} {
			for _, write := range []int{1000, 1 << 20} {
				at := cleanBlock - before
				data := append(append(append([]byte(nil), filler[:at]...), text...), filler[at:at+20_000]...)
				c := &cleaner{secrets: liveSet(t), cleaned: time.Now().Add(time.Hour)} // only the size ends a block
				if strings.HasPrefix(text, " ") {
					c.masker = masker(t, toolspec.MaskEmail, toolspec.MaskCard)
				}
				stored, err := cleanStream(c, data, func() int { return write })
				if err != nil {
					t.Fatal(err)
				}
				for _, part := range never {
					if bytes.Contains(stored, []byte(part)) {
						t.Errorf("%q, %d bytes in front of the cut, in writes of %d: %q is stored", text, before, write, part)
					}
				}
				if len(stored) < len(data)-2*len(text)-10 || !bytes.HasPrefix(stored, filler[:max(0, at-1)]) {
					t.Errorf("%q: %d bytes of %d are stored", text, len(stored), len(data))
				}
			}
		}
	}
}

// TestAMaskCutsNoCredential: if a mask finds a number in a credential, no part of the credential is stored, at
// whatever place the stream is split.
func TestAMaskCutsNoCredential(t *testing.T) {
	t.Parallel()
	const slack = "xoxb-123456789012-1234567890123-AbCdEfGhIjKlMnOpQrStUvWx"
	secrets := &fingerprint.Set{}
	if err := secrets.Add("token", []byte(slack)); err != nil {
		t.Fatal(err)
	}
	filler := strings.Repeat("a line of a log that says little\n", 1+2*cleanBlock/33)
	for _, before := range []int{1, len(slack) / 2, len(slack), 4096, 4096 + len(slack)/2, 8192, 8192 + len(slack)/2, 10_000} {
		at := cleanBlock - before
		c := &cleaner{secrets: secrets, masker: masker(t, toolspec.MaskPhone), cleaned: time.Now().Add(time.Hour)}
		stored, err := cleanStream(c, []byte(filler[:at]+" "+slack+" "+filler[at:at+20_000]), func() int { return 1000 })
		if err != nil || bytes.Contains(stored, []byte("AbCdEf")) || bytes.Contains(stored, []byte("StUvWx")) || !bytes.Contains(stored, []byte(fingerprint.Redacted)) {
			t.Errorf("%d bytes in front of the cut: %v, %.200s", before, err, stored[max(0, at-20):])
		}
	}
}

// TestAWriteAfterTheEndFails: an attempt whose time is over has no complete stream, even if the tool ignores the error of its last Write.
func TestAWriteAfterTheEndFails(t *testing.T) {
	t.Parallel()
	over := errors.New("the time is over")
	ctx, end := context.WithCancelCause(t.Context())
	s := &stream{cleaner: cleaner{cleaned: time.Now().Add(time.Hour)}}
	call := s.begin(ctx, toolspec.Call{})
	if _, err := call.Output().Write([]byte("half")); err != nil {
		t.Fatal(err)
	}
	end(over)
	if _, err := call.Output().Write(nil); err != nil {
		t.Errorf("nothing is missing, and the error is %v", err)
	}
	if _, err := call.Output().Write([]byte("the rest")); !errors.Is(err, over) {
		t.Errorf("the error is %v", err)
	}
	if ref, err := s.finish(t.Context()); ref != "" || !errors.Is(err, over) {
		t.Errorf("it is complete: %q, %v", ref, err)
	}
}

// TestEveryByteIsStored: a stream without credentials and texts to mask is stored unchanged, whatever the sizes
// of the writes are.
func TestEveryByteIsStored(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3*cleanBlock+1000)
	_, _ = rand.NewChaCha8([32]byte{7}).Read(noise)
	var text bytes.Buffer
	for i := range 40_000 {
		fmt.Fprintf(&text, "é line %d\n", i)
	}
	for name, c := range map[string]struct {
		cleaner cleaner
		data    []byte
	}{
		"binary": {cleaner{binary: true, secrets: liveSet(t)}, noise}, "text": {cleaner{masker: masker(t, toolspec.MaskEmail), secrets: liveSet(t)}, text.Bytes()},
		"no secrets": {cleaner{}, noise}, "nothing": {cleaner{secrets: liveSet(t)}, nil},
	} {
		stored, err := cleanStream(&c.cleaner, c.data, func() int { return 1 + random.IntN(100_000) })
		if err != nil || !bytes.Equal(stored, c.data) {
			t.Errorf("%s: %d bytes of %d are stored, %v", name, len(stored), len(c.data), err)
		}
	}
}

// TestABinaryStreamIsNotChanged: a credential in a binary stream is an error, and no part of the credential is
// stored before the error.
func TestABinaryStreamIsNotChanged(t *testing.T) {
	t.Parallel()
	for _, before := range []int{0, 10, 39, 4096} {
		data := bytes.Repeat([]byte{0xff, 0xfe, 1, 2}, cleanBlock)
		copy(data[cleanBlock-before:], credential)
		stored, err := cleanStream(&cleaner{binary: true, secrets: liveSet(t)}, data, func() int { return 50_000 })
		if !errors.Is(err, errUnclean) || bytes.Contains(stored, []byte(credential[:8])) {
			t.Errorf("%d bytes in front of the cut: %v, and %d bytes are stored", before, err, len(stored))
		}
	}
}

// TestATextToMaskThatDoesNotEnd: a stream with such a text is refused, so that it is neither kept in memory nor
// masked in part.
func TestATextToMaskThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	c := &cleaner{masker: masker(t, toolspec.MaskRegex(`key=\S+`))}
	if _, err := cleanStream(c, []byte("key="+strings.Repeat("k", 2<<20)), func() int { return 10_000 }); !errors.Is(err, errUnclean) {
		t.Errorf("%v", err)
	}
}
