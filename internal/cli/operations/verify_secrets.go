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

// secretList is a file of secrets. If the file has a zero byte, each secret ends with a zero byte, and otherwise with
// a line break. The label of a secret is the name of the file and the number of the secret in it.
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
