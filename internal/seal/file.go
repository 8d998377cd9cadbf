package seal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pawl-run/pawl/broker"
)

const (
	// maxRing bounds a key ring, in bytes.
	maxRing = 1 << 20
	// lookEvery is how often a file is looked at for a newer ring.
	lookEvery = time.Second
)

// File is a ring in a file. It follows the file: a key that is added there opens
// within a second. While the file is not readable, the last ring stays.
type File struct {
	path string

	mu     sync.Mutex
	ring   *Ring
	read   time.Time
	looked time.Time
}

var _ broker.Sealer = (*File)(nil)

// OpenFile reads the ring of a file that nobody but its owner may read.
func OpenFile(path string) (*File, error) {
	f := &File{path: path}
	return f, f.load()
}

// Load reads the ring of a file once.
func Load(path string) (*Ring, error) {
	f := &File{path: path}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f.ring, nil
}

func (f *File) load() error {
	file, err := os.Open(f.path)
	if err != nil {
		return fmt.Errorf("key ring: %w", err)
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return fmt.Errorf("key ring: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("key ring %s is not a regular file", f.path)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("key ring %s may be read by others: chmod 600 it", f.path)
	}
	text, err := io.ReadAll(io.LimitReader(file, maxRing))
	if err != nil {
		return fmt.Errorf("key ring: %w", err)
	}
	defer clear(text)
	ring, err := Parse(text)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	f.ring, f.read, f.looked = ring, info.ModTime(), time.Now()
	return nil
}

// current returns the ring as it stands in the file.
func (f *File) current() *Ring {
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.looked) < lookEvery {
		return f.ring
	}
	f.looked = time.Now()
	if info, err := os.Stat(f.path); err == nil && !info.ModTime().Equal(f.read) {
		_ = f.load()
	}
	return f.ring
}

// Seal seals with the ring as it stands.
func (f *File) Seal(plain []byte, at broker.Binding) ([]byte, int64, error) {
	return f.current().Seal(plain, at)
}

// Open opens with the ring as it stands.
func (f *File) Open(sealed []byte, at broker.Binding) ([]byte, error) {
	return f.current().Open(sealed, at)
}

// Primary is the id of the key that seals.
func (f *File) Primary() int64 { return f.current().Primary() }

// Create writes a new ring into a file that must not exist.
func Create(path string, r *Ring) error { return write(path, r, os.O_EXCL) }

// Replace writes a ring in the place of the one in the file, in one step.
func Replace(path string, r *Ring) error {
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".next")
	if err := write(next, r, os.O_EXCL); err != nil {
		return err
	}
	if err := os.Rename(next, path); err != nil {
		return errors.Join(fmt.Errorf("key ring: %w", err), os.Remove(next))
	}
	return nil
}

func write(path string, r *Ring, flag int) error {
	text, err := r.Encode()
	if err != nil {
		return err
	}
	defer clear(text)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flag, 0o600)
	if err != nil {
		return fmt.Errorf("key ring: %w", err)
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}
