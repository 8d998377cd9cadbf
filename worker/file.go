package worker

import (
	"errors"
	"io"
	"os"
)

// readFile reads a file of the configuration, at most limit+1 bytes. If the result has limit+1 bytes, the file
// is too large.
func readFile(name string, limit int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return text, nil
}
