package seal

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
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
	log     *slog.Logger

	ring atomic.Pointer[Ring]

	// looking is held while the file is read and a KMS is asked. Open does not wait for it if
	// the ring that was read last can open the secret. Seal waits for it, because its key may
	// have been removed from the ring.
	looking sync.Mutex
	read    fs.FileInfo
	looked  time.Time
	// rests is the time until which no request goes to the KMS.
	rests time.Time
	// loggedReason is the logged reason why the file cannot be read. It is empty while the file can be read.
	loggedReason string
}

var _ broker.Sealer = (*File)(nil)

// OpenFile reads the ring of a file that only its owner may read. w unwraps a wrapped ring; w may
// be nil if the ring is not wrapped. If w may use one key only, a ring in clear is refused, now and
// whenever the file changes. OpenFile logs to log when it stops following the file and when it
// follows it again; a nil log gets no records.
func OpenFile(path string, w broker.KeyWrapper, log *slog.Logger) (*File, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	f := &File{path: path, wrapper: w, log: log}
	return f, f.load()
}

// Load reads the ring of a file once. It accepts a ring in clear even if w may use one key only.
func Load(path string, w broker.KeyWrapper) (*Ring, error) {
	ring, _, err := readFile(path, w, parse)
	return ring, err
}

// readFile reads the ring of a file, and returns the info of the file.
func readFile(path string, w broker.KeyWrapper, parse func([]byte, broker.KeyWrapper) (*Ring, error)) (*Ring, fs.FileInfo, error) {
	text, info, err := secretfile.ReadInfo(path, maxRing)
	if err != nil {
		return nil, nil, fmt.Errorf("key ring: %w", err)
	}
	defer clear(text)
	ring, err := parse(text, w)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", path, err)
	}
	return ring, info, nil
}

func (f *File) load() error {
	ring, info, err := readFile(f.path, f.wrapper, Parse)
	if err == nil {
		f.ring.Store(ring)
		f.read, f.looked = info, time.Now()
	}
	return err
}

// current returns the current ring. It first reads the file again after lookEvery, or at once if now is
// true, but not before rests.
func (f *File) current(now bool) *Ring {
	f.looking.Lock()
	defer f.looking.Unlock()
	if f.due(now) {
		f.look()
	}
	return f.ring.Load()
}

// glance reads the file again in the background if that is due. It does not wait.
func (f *File) glance() {
	if !f.looking.TryLock() {
		return
	}
	if !f.due(false) {
		f.looking.Unlock()
		return
	}
	go func() {
		defer f.looking.Unlock()
		f.look()
	}()
}

func (f *File) due(now bool) bool {
	return (now || time.Since(f.looked) >= lookEvery) && time.Until(f.rests) <= 0
}

// look reads the file again if it has changed.
func (f *File) look() {
	f.looked = time.Now()
	info, err := os.Stat(f.path)
	if err == nil && !(os.SameFile(info, f.read) && info.ModTime().Equal(f.read.ModTime()) && info.Size() == f.read.Size()) {
		err = f.load()
	}
	var no *refused
	if errors.As(err, &no) {
		f.rests = time.Now().Add(restTime)
	}
	f.logReload(err)
}

// logReload logs once why the file is not followed. The operator must know it: a key that is retired
// meanwhile may be the key with which this worker seals. The errors hold nothing of a ring.
func (f *File) logReload(err error) {
	switch {
	case err != nil && err.Error() != f.loggedReason:
		f.loggedReason = err.Error()
		f.log.Warn("the key ring is not followed: the last one stays; retire no key meanwhile", "reason", f.loggedReason)
	case err == nil && f.loggedReason != "":
		f.loggedReason = ""
		f.log.Info("the key ring is followed again")
	}
}

// Seal seals with the current ring. It first reads the file again if that is due.
func (f *File) Seal(plain []byte, at broker.Binding) ([]byte, int64, error) {
	return f.current(false).Seal(plain, at)
}

// Open opens with the ring that was read last. If this fails, it reads the file again and tries once more:
// another process may already have sealed with a key that was added a moment ago.
func (f *File) Open(sealed []byte, at broker.Binding) ([]byte, error) {
	ring := f.ring.Load()
	plain, err := ring.Open(sealed, at)
	if err == nil {
		f.glance()
		return plain, nil
	}
	if newer := f.current(true); newer != ring {
		return newer.Open(sealed, at)
	}
	return nil, err
}

// Keys lists the keys of the current ring, without their secrets.
func (f *File) Keys() []Key { return f.current(false).Keys() }

// Primary is the id of the key that seals.
func (f *File) Primary() int64 { return f.current(false).Primary() }

// Create writes a new ring into a file that must not exist. w encrypts the ring, if the ring is a
// wrapped ring.
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

// Change replaces the ring in the file in one step: a reader of the file sees the old ring or
// the new ring. If another change runs at the same time, Change returns an error. A wrapped ring
// stays wrapped: w encrypts it.
func Change(path string, w broker.KeyWrapper, f func(*Ring) (*Ring, error)) error {
	// A symbolic link, for example of a mounted secret, stays a link.
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	next := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".next")
	file, err := create(next)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("another command is changing the key ring %s; if none runs, a change was interrupted: remove %s", path, next)
	}
	if err != nil {
		return err
	}
	err = func() error {
		// Load the ring only now: under the lock, no other process changes the file.
		now, err := Load(path, w)
		if err != nil {
			return err
		}
		ring, err := f(now)
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
