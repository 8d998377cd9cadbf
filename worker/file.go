package worker

import (
	"errors"
	"io"
	"os"
)

// readFile reads a file of the configuration: at most most bytes and one more, by which the reader of the
// text sees that the file is larger.
func readFile(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	return text, nil
}
