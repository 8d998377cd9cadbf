package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"

	"github.com/pawl-run/pawl/toolspec/capability"
)

// hasContent returns ErrChanged unless base has the content that expected says: see
// capability.ReplaceOptions.If.
func hasContent(ctx context.Context, parent *os.Root, base, expected string) error {
	if expected == "" {
		return nil
	}
	sum, err := contentOf(ctx, parent, base)
	switch {
	case err != nil:
		return err
	case sum != expected:
		return capability.ErrChanged
	}
	return nil
}

// contentOf returns the SHA-256 of the regular file base, or capability.Absent.
func contentOf(ctx context.Context, parent *os.Root, base string) (string, error) {
	f, _, err := openRegular(parent, base, os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return capability.Absent, nil
	}
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	hash := sha256.New()
	if _, err := io.Copy(hash, &reader{ctx: ctx, file: f, fault: withoutPath, left: math.MaxInt64}); err != nil {
		return "", err
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}
