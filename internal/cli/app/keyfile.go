package app

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

const (
	// KeyFileEnv is the environment variable with the name of the file of the private key.
	// Approvers sign their decisions with this key.
	KeyFileEnv = "PAWL_APPROVER_KEY"
	// maxKeyFile is the maximum size of a key file, in bytes.
	maxKeyFile = 4096
)

// DefaultKeyFile returns the name of the key file of the person at the terminal: the value of
// PAWL_APPROVER_KEY, or pawl/approver.pem in the user's configuration directory. It is empty if
// there is no such directory.
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

// ReadKey reads a key file of at most maxKeyFile bytes. If file is -, it reads the key from in.
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
		err = fmt.Errorf("%s is larger than %d bytes, so it is not a key", file, maxKeyFile)
	}
	return text, err
}

// SignedFor is the lifetime of a signature: a decision must arrive within this time.
const SignedFor = time.Hour
