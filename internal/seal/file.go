package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/secretfile"
)

const (
	// maxRing bounds a key ring, in bytes.
	maxRing = 1 << 20
	// lookEvery is how often a file is looked at for a newer ring.
	lookEvery = time.Second
)

// File is a ring in a file. It follows the file: a key that is added there opens
// within a second. While the file is not readable, or a KMS does not unwrap it, the
// last ring stays.
type File struct {
	path    string
	wrapper broker.KeyWrapper
	// only is the one key that the ring may be wrapped by, if there is one.
	only string

	mu     sync.Mutex
	ring   *Ring
	read   fs.FileInfo
	looked time.Time
	// rests is until when the KMS is left alone.
	rests time.Time
}

var _ broker.Sealer = (*File)(nil)

// OpenFile reads the ring of a file that nobody but its owner may read. w unwraps a
// ring that is wrapped; nil can do without. Where w may use one key only, a ring in
// clear is refused, now and whenever the file changes.
func OpenFile(path string, w broker.KeyWrapper) (*File, error) {
	f := &File{path: path, wrapper: w}
	if pinner, ok := w.(broker.KeyPinner); ok {
		f.only = pinner.Only()
	}
	return f, f.load()
}

// Load reads the ring of a file once.
func Load(path string, w broker.KeyWrapper) (*Ring, error) {
	f := &File{path: path, wrapper: w}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f.ring, nil
}

func (f *File) load() error {
	text, info, err := secretfile.ReadInfo(f.path, maxRing)
	if err != nil {
		return fmt.Errorf("key ring: %w", err)
	}
	defer clear(text)
	ring, err := Parse(text, f.wrapper)
	if err != nil {
		return fmt.Errorf("%s: %w", f.path, err)
	}
	if f.only != "" && ring.wrappedBy != f.only {
		return fmt.Errorf("%s: the key ring is not wrapped by %s, and no other counts here", f.path, f.only)
	}
	f.ring, f.read, f.looked = ring, info, time.Now()
	return nil
}

// current returns the ring as it stood in the file a moment ago, or, now, as it
// stands.
func (f *File) current(now bool) *Ring {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !now && time.Since(f.looked) < lookEvery || time.Until(f.rests) > 0 {
		return f.ring
	}
	f.looked = time.Now()
	if info, err := os.Stat(f.path); err == nil && !(os.SameFile(info, f.read) && info.ModTime().Equal(f.read.ModTime()) && info.Size() == f.read.Size()) {
		var no *refused
		if errors.As(f.load(), &no) {
			f.rests = time.Now().Add(restTime)
		}
	}
	return f.ring
}

// Seal seals with the ring as it stands.
func (f *File) Seal(plain []byte, at broker.Binding) ([]byte, int64, error) {
	return f.current(false).Seal(plain, at)
}

// Open opens with the ring as it stands. Where somebody else seals already with a
// key that was added a moment ago, it is there.
func (f *File) Open(sealed []byte, at broker.Binding) ([]byte, error) {
	ring := f.current(false)
	plain, err := ring.Open(sealed, at)
	if err == nil {
		return plain, nil
	}
	if newer := f.current(true); newer != ring {
		return newer.Open(sealed, at)
	}
	return nil, err
}

// Primary is the id of the key that seals.
func (f *File) Primary() int64 { return f.current(false).Primary() }

// Create writes a new ring into a file that must not exist. w wraps it where it is to
// be kept so.
func Create(path string, r *Ring, w broker.KeyWrapper) error {
	file, err := create(path)
	if err != nil {
		return err
	}
	if err := errors.Join(r.writeTo(file, w), file.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return syncDir(path)
}

// Change puts another ring in the place of the one in the file, in one step: who
// follows the file sees the one or the other. Two changes at once are not made one
// over the other: the second is refused. A ring that is wrapped stays so, by w.
func Change(path string, w broker.KeyWrapper, f func(*Ring) (*Ring, error)) error {
	// A link, say of a mounted secret, stays one.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".next")
	file, err := create(next)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("the key ring %s is being changed: where nobody does, a change was broken off, and %s is to be removed", path, next)
	}
	if err != nil {
		return err
	}
	err = func() error {
		// Only now, when nobody else changes it.
		now := &File{path: path, wrapper: w}
		if err := now.load(); err != nil {
			return err
		}
		ring, err := f(now.ring)
		if err != nil {
			return err
		}
		if err := keepOwner(file, path); err != nil {
			return fmt.Errorf("key ring: %w", err)
		}
		return ring.writeTo(file, w)
	}()
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(next, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(next))
	}
	return syncDir(path)
}

// create makes a file of a ring, which must not exist.
func create(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("key ring: %w", err)
	}
	return file, nil
}

func (r *Ring) writeTo(file *os.File, w broker.KeyWrapper) error {
	text, err := r.Encode(w)
	if err != nil {
		return err
	}
	defer clear(text)
	if _, err := file.Write(text); err != nil {
		return fmt.Errorf("key ring: %w", err)
	}
	return file.Sync()
}

// syncDir makes the name of a file durable: a key must not be lost that has sealed.
func syncDir(path string) error {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("key ring: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}
