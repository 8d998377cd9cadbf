package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	// KeyFileEnv names the file of the private key that decisions are signed with.
	KeyFileEnv = "PAWL_APPROVER_KEY"
	// maxKeyFile bounds what is read of a key file, in bytes.
	maxKeyFile = 4096
)

// DefaultKeyFile is where the person at the terminal keeps a key, or empty.
func DefaultKeyFile() string {
	if named := os.Getenv(KeyFileEnv); named != "" {
		return named
	}
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "pawl", "approver.pem")
}

// ReadKey reads a small file, or what comes in.
func ReadKey(file string, in io.Reader) ([]byte, error) {
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxKeyFile+1))
	if err == nil && len(text) > maxKeyFile {
		err = fmt.Errorf("%s is larger than %d bytes: that is no key", file, maxKeyFile)
	}
	return text, err
}

// SignedFor is how long a decision that is sent now may be on its way.
const SignedFor = time.Hour
