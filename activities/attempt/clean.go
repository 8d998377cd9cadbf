package attempt

import (
	"errors"
	"time"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
)

// cleanBlock is how many bytes of a stream are masked and searched at once.
// It is cleaned earlier if it waits for longer than cleanEvery, so that a reader can follow.
const (
	cleanBlock = 256 << 10
	cleanEvery = 2 * time.Second
)

// errUnclean says that a stream has something that cannot be taken out of it.
var errUnclean = errors.New("a credential or a text to mask cannot be taken out of the stream")

// cleaner takes out of a stream what must not be stored. It holds back the end of what it got: a
// credential, or a text to mask, may go on in the next part.
type cleaner struct {
	// binary streams are not changed: what would be taken out is an error.
	binary  bool
	masker  *toolspec.StreamMasker
	secrets *fingerprint.Set
	// raw is not masked yet, and its last fresh bytes have not been looked at. masked is not stored yet.
	raw, masked []byte
	fresh       int
	cleaned     time.Time
}

// push takes the next part and calls emit with what may be stored. With last, nothing follows. The
// error is errUnclean or an error of emit.
func (c *cleaner) push(p []byte, last bool, emit func([]byte) error) error {
	for {
		n := min(len(p), cleanBlock-c.fresh)
		c.raw, c.fresh, p = append(c.raw, p[:n]...), c.fresh+n, p[n:]
		ends := last && len(p) == 0
		if c.fresh == cleanBlock || ends || time.Since(c.cleaned) > cleanEvery {
			if err := c.clean(ends, emit); err != nil {
				return err
			}
		}
		if len(p) == 0 {
			return nil
		}
	}
}

// clean masks what is raw, searches it together with what was held back, and emits all but the end.
func (c *cleaner) clean(last bool, emit func([]byte) error) error {
	c.fresh, c.cleaned = 0, time.Now()
	if c.masker == nil {
		c.masked, c.raw = append(c.masked, c.raw...), c.raw[:0]
	} else {
		masked, rest, err := c.masker.Mask(c.raw, last)
		if err != nil {
			return errUnclean
		}
		c.masked = append(c.masked, masked...)
		c.raw = c.raw[:copy(c.raw, rest)]
	}
	if err := c.search(); err != nil {
		return err
	}
	keep := c.secrets.Reach()
	if last {
		keep = 0
	}
	n := len(c.masked) - keep
	if n <= 0 {
		return nil
	}
	if err := emit(c.masked[:n]); err != nil {
		return err
	}
	c.masked = c.masked[:copy(c.masked, c.masked[n:])]
	return nil
}

// search takes the credentials out of what is masked.
func (c *cleaner) search() error {
	if c.secrets == nil || c.secrets.Len() == 0 {
		return nil
	}
	if c.binary {
		if len(c.secrets.Find(c.masked)) > 0 {
			return errUnclean
		}
		return nil
	}
	text := string(c.masked)
	clean := c.secrets.Redact(text)
	if clean == fingerprint.Redacted && len(text) > c.secrets.Reach() {
		return errUnclean // Redact has given up, and what it dropped may be the beginning of a credential
	}
	if clean != text {
		c.masked = append(c.masked[:0], clean...)
	}
	return nil
}
