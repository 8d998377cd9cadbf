package operations

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/secretfile"
)

// maxSecrets bounds a file of secrets, in bytes.
const maxSecrets = 64 << 20

// secretList is a file of secrets, one a line, or each with a zero byte behind
// it. They are named by their numbers.
type secretList struct {
	name string
	text []byte
}

var _ fingerprint.Source = secretList{}

// readSecrets reads a list; - is standard input.
func readSecrets(file string, in io.Reader) (list secretList, err error) {
	list.name = file
	if file == "-" {
		list.name = "stdin"
		list.text, err = secretfile.Limited(in, "standard input", maxSecrets)
		return list, err
	}
	list.text, err = secretfile.Read(file, maxSecrets)
	return list, err
}

// Secrets yields them in their order; empty ones are none.
func (l secretList) Secrets(context.Context) iter.Seq2[fingerprint.Credential, error] {
	end := []byte("\n")
	if bytes.IndexByte(l.text, 0) >= 0 {
		end = []byte{0}
	}
	return func(yield func(fingerprint.Credential, error) bool) {
		n := 0
		for secret := range bytes.SplitSeq(l.text, end) {
			n++
			if end[0] == '\n' {
				secret = bytes.TrimSuffix(secret, []byte("\r"))
			}
			if len(secret) > 0 && !yield(fingerprint.Credential{Label: fmt.Sprintf("%s:%d", l.name, n), Secret: secret}, nil) {
				return
			}
		}
	}
}
