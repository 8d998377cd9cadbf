package turn

import "strings"

// Secrets finds credentials in texts. Package broker/fingerprint has it for workers.
type Secrets interface {
	// Redact returns a text without the credentials in it. It returns a text that has no credentials
	// unchanged.
	Redact(text string) string
	// Reach returns the largest number of bytes that a credential can take in a text, or 0 if there are no
	// credentials to find.
	Reach() int
}

// redacted is shown in place of the end of a credential whose beginning was shown before.
const redacted = "[redacted]"

// maxWord bounds how much text without a blank the cleaner holds back, in bytes, in addition to the reach of a
// credential.
const maxWord = 4 << 10

// cleaner takes credentials out of a text that arrives in parts. It holds back the last word, because a
// credential can continue in the next part. The earlier words of a credential with blanks in it may already
// be shown when its last word arrives: the cleaner then shows redacted in the place of that word.
type cleaner struct {
	secrets Secrets
	// raw is the text that has not been searched. tail is the end of the text that was returned.
	raw, tail string
}

// push takes the next part and returns the text that may be shown. last says that no part follows.
func (c *cleaner) push(part string, last bool) string {
	reach := 0
	if c.secrets != nil {
		reach = c.secrets.Reach()
	}
	c.raw += part
	n := len(c.raw)
	if reach > 0 && !last {
		if n = strings.LastIndexAny(c.raw, " \t\r\n") + 1; n == 0 {
			n = runeStart(c.raw, max(0, len(c.raw)-reach-maxWord))
		}
	}
	next := c.raw[:n]
	if c.raw = c.raw[n:]; reach == 0 || next == "" {
		return next
	}
	if whole := c.tail + next; c.secrets.Redact(whole) != whole {
		next = c.secrets.Redact(next)
		if whole = c.tail + next; c.secrets.Redact(whole) != whole {
			next = redacted // the credential begins in what was shown
		}
	}
	c.tail += next
	c.tail = c.tail[runeStart(c.tail, max(0, len(c.tail)-reach)):]
	return next
}

// runeStart returns i if a character begins there, and otherwise the nearest place before i at which one begins.
func runeStart(text string, i int) int {
	for i > 0 && i < len(text) && text[i]&0xC0 == 0x80 {
		i--
	}
	return i
}
