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

// maxSecrets is the maximum size of a file of secrets, in bytes.
const maxSecrets = 64 << 20

// secretList is a file of secrets. Each secret ends with a line break, or with a zero byte if the
// file has one. The label of a secret is its number in the file.
type secretList struct {
	name string
	text []byte
}

var _ fingerprint.Source = secretList{}

// readSecrets reads a file of secrets; - is standard input.
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

// Secrets yields the secrets in the order of the file. It leaves out empty ones.
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
