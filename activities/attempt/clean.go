package attempt

import (
	"errors"
	"time"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
)

// cleanBlock is how many bytes of a stream are masked and searched at once. Fewer bytes are
// masked and searched after cleanEvery, so that a reader can follow the stream.
const (
	cleanBlock = 256 << 10
	cleanEvery = 2 * time.Second
)

// errUnclean says that a credential or a text to mask cannot be removed from a stream.
var errUnclean = errors.New("a credential or a text to mask cannot be taken out of the stream")

// cleaner removes credentials and texts to mask from a stream. It holds back the last bytes of a part, because
// a credential or a text to mask may continue in the next part. Bytes move from raw to searched and then to masked,
// and are then stored.
type cleaner struct {
	// binary says that the stream must not be changed: a credential in it is an error.
	binary  bool
	masker  *toolspec.StreamMasker
	secrets *fingerprint.Set
	// raw has bytes that may still be a part of a credential.
	raw []byte
	// fresh counts the last bytes of raw that have not been searched for credentials yet.
	fresh int
	// searched has bytes in which no credential is left, and in which nothing is masked yet.
	searched []byte
	// masked has masked bytes that are not stored yet.
	masked []byte
	// cleaned is when the bytes were last masked and searched.
	cleaned time.Time
}

// push takes the next part and calls emit with the bytes that may be stored. last says that no part follows.
// The error is errUnclean or an error of emit.
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

// clean searches raw, masks it, searches it again, and emits all but the last bytes. It searches before the
// mask, because a mask may remove a part of a credential, so that no later search finds the rest. It searches
// after the mask, because the texts on both sides of a mask may form a credential.
func (c *cleaner) clean(last bool, emit func([]byte) error) error {
	c.fresh, c.cleaned = 0, time.Now()
	if c.masker == nil {
		c.masked, c.raw = append(c.masked, c.raw...), c.raw[:0]
	} else if err := c.mask(last); err != nil {
		return err
	}
	clean, n, err := c.removeSecrets(c.masked, last)
	if err != nil {
		return err
	}
	if n > 0 {
		err = emit(clean[:n])
	}
	c.masked = clean[:copy(clean, clean[n:])]
	return err
}

// mask moves the bytes of raw that have no credential to searched, and masks searched.
func (c *cleaner) mask(last bool) error {
	clean, n, err := c.removeSecrets(c.raw, last)
	if err != nil {
		return err
	}
	c.searched, c.raw = append(c.searched, clean[:n]...), clean[:copy(clean, clean[n:])]
	masked, rest, err := c.masker.Mask(c.searched, last)
	if err != nil {
		return errUnclean
	}
	c.masked, c.searched = append(c.masked, masked...), c.searched[:copy(c.searched, rest)]
	return nil
}

// removeSecrets replaces the credentials in text, in place, and returns the new text. The caller may pass on its first safe
// bytes now: the bytes after them may be the first part of a credential that continues in the next part of the stream. If
// last is true, the caller may pass on all bytes. The error is errUnclean if a binary text has a credential, or if the
// credentials cannot be replaced.
func (c *cleaner) removeSecrets(text []byte, last bool) (clean []byte, safe int, err error) {
	if c.secrets == nil || c.secrets.Len() == 0 {
		return text, len(text), nil
	}
	if c.binary {
		if len(c.secrets.Find(text)) > 0 {
			return nil, 0, errUnclean
		}
	} else if redacted := c.secrets.Redact(string(text)); redacted != string(text) {
		if redacted == fingerprint.Redacted && len(text) > c.secrets.Reach() {
			return nil, 0, errUnclean // Redact has given up, and what it dropped may be the beginning of a credential
		}
		text = append(text[:0], redacted...)
	}
	if last {
		return text, len(text), nil
	}
	return text, max(0, len(text)-c.secrets.Reach()), nil
}
