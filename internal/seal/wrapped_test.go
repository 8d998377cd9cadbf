package seal_test

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/seal"
)

const wrappingKey = "test-kms://vault.example/keys/one"

// service is a KMS that makes a key of every name that begins with its own.
type service struct {
	mu    sync.Mutex
	away  error
	asked int
	// hangs, where it is not nil, has it answer when that is closed.
	hangs chan struct{}
	// forgets has it wrap what does not unwrap; aliases, know one key by every name.
	forgets, aliases bool
}

var _ broker.KeyWrapper = (*service)(nil)

func (s *service) fails(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = err
}

func (s *service) times() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

func (s *service) key(name string) (cipher.AEAD, error) {
	s.mu.Lock()
	s.asked++
	hangs := s.hangs
	s.mu.Unlock()
	if hangs != nil {
		<-hangs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away != nil {
		return nil, s.away
	}
	if s.aliases {
		name = ""
	}
	sum := sha256.Sum256([]byte("of a test " + name))
	block, err := aes.NewCipher(sum[:])
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

func (s *service) Wrap(_ context.Context, name string, plain, associated []byte) ([]byte, error) {
	key, err := s.key(name)
	if err != nil {
		return nil, err
	}
	if len(plain) > 1024 {
		return nil, errors.New("that is too long for a KMS")
	}
	if s.forgets {
		associated = []byte(rand.Text())
	}
	return key.Seal(nil, nil, plain, associated), nil
}

func (s *service) Unwrap(_ context.Context, name string, wrapped, associated []byte) ([]byte, error) {
	key, err := s.key(name)
	if err != nil {
		return nil, err
	}
	return key.Open(nil, nil, wrapped, associated)
}

// newWrapped puts a ring of many keys into a file, wrapped.
func newWrapped(t *testing.T, w broker.KeyWrapper) (path string, clear []byte) {
	t.Helper()
	r := newRing(t)
	for range 20 {
		r = must(add(r))(t)
	}
	clear = must(r.Encode(nil))(t)
	path = t.TempDir() + "/ring.json"
	if err := seal.Create(path, must(r.Wrap(wrappingKey))(t), w); err != nil {
		t.Fatal(err)
	}
	return path, clear
}

// TestWrapped: a ring that is wrapped opens with its KMS, whatever is done to it, and nothing of its keys is in the file.
func TestWrapped(t *testing.T) {
	t.Parallel()
	w := &service{}
	path, inClear := newWrapped(t, w)
	text := must(os.ReadFile(path))(t)
	if !strings.Contains(string(text), wrappingKey) || strings.Contains(string(text), "primaryKeyId") || bytes.Contains(text, inClear[100:140]) {
		t.Errorf("%s", text)
	}
	f := must(seal.OpenFile(path, w, nil))(t)
	byOld := sealed(t, f)
	var added int64
	if err := seal.Change(path, w, func(r *seal.Ring) (next *seal.Ring, err error) {
		next, added, err = r.Add()
		return next, err
	}); err != nil {
		t.Fatal(err)
	}
	if err := seal.Change(path, w, func(r *seal.Ring) (*seal.Ring, error) { return r.Promote(added) }); err != nil {
		t.Fatal(err)
	}
	again := must(seal.Load(path, w))(t)
	if again.WrappedBy() != wrappingKey || again.Primary() != added || !opens(t, again, byOld, here) {
		t.Errorf("%q, %d, not %d", again.WrappedBy(), again.Primary(), added)
	}
	if byNew := sealed(t, again); !opens(t, f, byNew, here) {
		t.Error("a wrapped ring is not followed")
	}
	removed := must(again.Remove(again.Keys()[1].ID))(t)
	if removed.WrappedBy() != wrappingKey {
		t.Error("a key is removed, and the ring is in clear")
	}
	if r := must(seal.Parse(must(again.Encode(w))(t), w))(t); !opens(t, r, byOld, here) {
		t.Error("the text of a variable does not open what the file does")
	}

	// Another key, and none.
	const other = "test-kms://vault.example/keys/two"
	for _, key := range []string{other, ""} {
		if err := seal.Change(path, w, func(r *seal.Ring) (*seal.Ring, error) { return r.Wrap(key) }); err != nil {
			t.Fatal(err)
		}
		if r := must(seal.Load(path, w))(t); r.WrappedBy() != key || !opens(t, r, byOld, here) {
			t.Errorf("%q, not %q", r.WrappedBy(), key)
		}
	}
	if r := must(seal.Load(path, nil))(t); r.WrappedBy() != "" {
		t.Error("it is in clear, and needs a KMS")
	}
}

// TestWrappedIsRefused: who cannot unwrap a ring is told why, and what was changed does not open.
func TestWrappedIsRefused(t *testing.T) {
	t.Parallel()
	w := &service{aliases: true}
	path, _ := newWrapped(t, w)
	text := string(must(os.ReadFile(path))(t))
	// A letter in the middle, so that it is another one of base64.
	i := strings.Index(text, `"ring": "`) + 200
	letter := "A"
	if text[i] == 'A' {
		letter = "B"
	}
	for name, tc := range map[string]struct {
		text string
		w    broker.KeyWrapper
		want string
	}{
		"no KMS":          {text, nil, "the key ring is wrapped by " + wrappingKey + ", and this program speaks with no KMS: use pawl-kms"},
		"another service": {text, &service{away: errors.New("denied")}, "which does not unwrap it: denied"},
		"another key":     {text, &service{}, "the key ring is wrapped by " + wrappingKey + ", which does not unwrap it"},
		"another name":    {strings.Replace(text, "keys/one", "keys/two", 1), w, "wrapped by test-kms://vault.example/keys/two, which does not unwrap it"},
		"changed":         {text[:i] + letter + text[i+1:], w, "the key ring is wrapped by"},
		"no key":          {strings.Replace(text, "test-kms://", "test-kms://user:canary@", 1), w, "this is not a key ring"},
		"more":            {text + "{}", w, "this is not a key ring"},
		"empty":           {`{"wrappedBy":"` + wrappingKey + `","ring":""}`, w, "it was changed"},
		"half":            {text[:len(text)/2], w, "this is not a key ring"},
	} {
		r, err := seal.Parse([]byte(tc.text), tc.w)
		if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, %v, want %q", name, r, err, tc.want)
		}
	}
	for _, key := range []string{"one", "test-kms://", "test-kms://a b", "https://user:word@vault.example/keys/one", "Test://a", "test-kms://\n"} {
		if _, err := newRing(t).Wrap(key); err == nil {
			t.Errorf("%q is a key", key)
		}
	}
}

// TestWrappedIsKept: a ring is not put into a file that nobody could open again.
func TestWrappedIsKept(t *testing.T) {
	t.Parallel()
	path := newFile(t, newRing(t))
	before := must(os.ReadFile(path))(t)
	for name, w := range map[string]broker.KeyWrapper{"none": nil, "away": &service{away: errors.New("away")}, "forgets": &service{forgets: true}} {
		if err := seal.Change(path, w, func(r *seal.Ring) (*seal.Ring, error) { return r.Wrap(wrappingKey) }); err == nil || !strings.Contains(err.Error(), wrappingKey) {
			t.Errorf("%s: %v", name, err)
		}
		if after := must(os.ReadFile(path))(t); string(after) != string(before) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// TestWrappedWhileAway: while a KMS is away the last ring stays, and it is not asked for every credential.
func TestWrappedWhileAway(t *testing.T) {
	t.Parallel()
	w := &service{}
	path, _ := newWrapped(t, w)
	f := must(seal.OpenFile(path, w, nil))(t)
	text := sealed(t, f)
	if err := seal.Change(path, w, add); err != nil {
		t.Fatal(err)
	}
	w.fails(errors.New("away"))
	before, began := w.times(), time.Now()
	for range 100 {
		if opens(t, f, nil, here) || !opens(t, f, text, here) { // the first looks at the file
			t.Fatal("the last ring does not stay")
		}
	}
	// It rests for ten seconds.
	if n, most := w.times()-before, 1+int(time.Since(began)/(10*time.Second)); n < 1 || n > most {
		t.Errorf("it was asked %d times, want once and at most %d times", n, most)
	}
}

// TestWrappedWhileSilent: while a KMS is being asked, what opens with the last ring does, and what needs the newer one gets it.
func TestWrappedWhileSilent(t *testing.T) {
	t.Parallel()
	w := &service{}
	path, _ := newWrapped(t, w)
	f := must(seal.OpenFile(path, w, nil))(t)
	byOld := sealed(t, f)
	if err := seal.Change(path, w, func(r *seal.Ring) (*seal.Ring, error) {
		added, keyID, err := r.Add()
		if err != nil {
			return nil, err
		}
		return added.Promote(keyID)
	}); err != nil {
		t.Fatal(err)
	}
	next := must(seal.Load(path, w))(t)
	byNew := sealed(t, next)
	hangs := make(chan struct{})
	answers := sync.OnceFunc(func() { close(hangs) })
	defer answers()
	before := w.times()
	w.mu.Lock()
	w.hangs = hangs
	w.mu.Unlock()
	newer := make(chan bool, 2)
	for range 2 {
		go func() { newer <- opens(t, f, byNew, here) }()
	}
	until(t, "the KMS is asked", func() bool { return w.times() > before })
	for range 100 {
		if !within(t, func() bool { return opens(t, f, byOld, here) }) {
			t.Fatal("the last ring does not stay")
		}
	}
	key := make(chan int64, 1)
	go func() {
		_, by, _ := f.Seal([]byte("secret"), here)
		key <- by
	}()
	select {
	case by := <-key:
		t.Errorf("it seals with the key %d of a ring that may be old", by)
	case <-time.After(100 * time.Millisecond):
	}
	answers()
	for range 2 {
		if !<-newer {
			t.Error("what needs the newer ring does not wait for it")
		}
	}
	if by := <-key; by != next.Primary() {
		t.Errorf("sealed with the key %d", by)
	}
}

// within runs what must not wait.
func within(t *testing.T, f func() bool) bool {
	t.Helper()
	done := make(chan bool, 1)
	go func() { done <- f() }()
	select {
	case ok := <-done:
		return ok
	case <-time.After(time.Minute):
		t.Fatal("it waits for the KMS")
		return false
	}
}

// pinned may use one key only.
type pinned struct{ service }

func (*pinned) Only() string { return wrappingKey }

// TestPinnedTakesNoOther: whoever can write the file of a worker that has one key of a KMS cannot have it seal with a ring of his own.
func TestPinnedTakesNoOther(t *testing.T) {
	t.Parallel()
	w := new(pinned)
	path, plain := newWrapped(t, w)
	f := must(seal.OpenFile(path, w, nil))(t)
	was := f.Primary()
	foreign := newRing(t)
	for name, ring := range map[string]*seal.Ring{"in clear": foreign, "by another key": must(foreign.Wrap("test-kms://evil.example/keys/one"))(t)} {
		if err := os.WriteFile(path, must(ring.Encode(w))(t), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := seal.OpenFile(path, w, nil); err == nil {
			t.Errorf("%s: the ring is taken", name)
		}
		if _, err := f.Open([]byte("looks again"), broker.Binding{}); err == nil || f.Primary() != was {
			t.Errorf("%s: the ring takes the place of the worker's", name)
		}
	}
	for name, text := range map[string][]byte{"in clear": plain, "by another key": must(must(foreign.Wrap("test-kms://evil.example/keys/one"))(t).Encode(w))(t)} {
		if r, err := seal.Parse(text, w); err == nil || r != nil || !strings.Contains(err.Error(), "not wrapped by "+wrappingKey) {
			t.Errorf("%s: the text of a variable is taken: %v", name, err)
		}
	}
	// It can still be wrapped: the commands take what a worker does not.
	if err := os.WriteFile(path, plain, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := seal.Load(path, w); err != nil {
		t.Error(err)
	}
}

// TestFollowedFileLogsOnce: a worker that follows its ring no more says so once, with a reason that holds nothing of it, and when it does again.
func TestFollowedFileLogsOnce(t *testing.T) {
	t.Parallel()
	w := &service{}
	path, plain := newWrapped(t, w)
	var out bytes.Buffer
	f := must(seal.OpenFile(path, w, slog.New(slog.NewTextHandler(&out, nil))))(t)
	look := func() {
		t.Helper()
		for range 10 {
			if opens(t, f, nil, here) { // which looks at the file
				t.Error("nothing opens")
			}
		}
	}
	wantLog := func(want ...string) {
		t.Helper()
		text := out.String()
		out.Reset()
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != len(want) || strings.Contains(text, "canary") || strings.Contains(text, string(plain[100:140])) {
			t.Fatalf("%s, want %q", text, want)
		}
		for i, line := range lines {
			if !strings.Contains(line, want[i]) {
				t.Errorf("%s, want %q", line, want[i])
			}
		}
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	whole := must(os.ReadFile(path))(t)
	look()
	write("canary")
	look()
	wantLog("this is not a key ring")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	look()
	wantLog("no such file")
	write(string(whole))
	look()
	wantLog("is followed again")
	if err := seal.Change(path, w, add); err != nil {
		t.Fatal(err)
	}
	w.fails(errors.New("denied"))
	look()
	wantLog("does not unwrap it: denied")
}
