package workerkey

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pawl-run/pawl/toolspec/errs"
)

const (
	// Size is the length of a secret in bytes, that of HMAC-SHA256's output.
	Size = 32
	// Signs is for how long a key signs.
	Signs = 24 * time.Hour
	// Kept is for how long a key verifies. A call that waits for a person holds answers from before
	// the wait, so this is longer than any such wait.
	Kept = 400 * 24 * time.Hour
	// fetchEvery bounds how often a ring looks for new keys: anybody in the namespace
	// can make up a signature that names a new key.
	fetchEvery = time.Second
	// fetchTime bounds one read of the keys: an answer that is to be signed cannot
	// wait for a database that is silent.
	fetchTime = time.Second
	// goesOn is for how long a key still signs after its time if the store gives no other key.
	goesOn = time.Minute
)

// ErrSoon means that a signature names a key that is not among the keys that were read a moment ago.
var ErrSoon = errors.New("the keys of the workers were read a moment ago")

// Key is a secret that workers share.
type Key struct {
	ID     int64
	Secret []byte
	// Age is the age of the key, by the database's clock.
	Age time.Duration
}

// Store keeps the keys.
type Store interface {
	// WorkerKeys returns the keys that verify, the newest first. It makes a key if the newest has
	// signed for Signs. An error that passes by itself is marked errs.Transient.
	WorkerKeys(ctx context.Context) ([]Key, error)
}

// Ring signs and verifies. It may be used by several goroutines.
type Ring struct {
	store Store

	mu      sync.Mutex
	secrets map[int64][]byte
	newest  int64
	// until is when the newest key stops to sign, and tried when the keys were asked
	// for last; both by the monotonic clock.
	until, tried time.Time
}

// New makes a ring that reads its keys when it first needs one.
func New(store Store) *Ring { return &Ring{store: store} }

// Sign returns the signature of a text: the id of the key, a dot, and HMAC-SHA256
// in unpadded base64url. While the database is away, a key whose time is over goes
// on signing.
func (r *Ring) Sign(ctx context.Context, text []byte) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.newest == 0 || time.Now().After(r.until) {
		err := r.fetch(ctx)
		switch {
		case err != nil && r.newest == 0:
			return "", err
		case err != nil:
			r.until = time.Now().Add(goesOn)
		}
	}
	return strconv.FormatInt(r.newest, 10) + "." + base64.RawURLEncoding.EncodeToString(mac(r.secrets[r.newest], text)), nil
}

// Verify reports whether a worker has signed the text. A signature that cannot be parsed is not
// valid. An error means that the answer is unknown: this process does not have the key, and the
// database does not answer.
func (r *Ring) Verify(ctx context.Context, text []byte, signature string) (bool, error) {
	keyID, sum, ok := parse(signature)
	if !ok {
		return false, nil
	}
	secret, err := r.secret(ctx, keyID)
	if err != nil || secret == nil {
		return false, err
	}
	return hmac.Equal(sum, mac(secret, text)), nil
}

func parse(signature string) (keyID int64, sum []byte, ok bool) {
	id, encoded, _ := strings.Cut(signature, ".")
	keyID, noID := strconv.ParseInt(id, 10, 64)
	sum, noSum := base64.RawURLEncoding.DecodeString(encoded)
	return keyID, sum, noID == nil && noSum == nil && len(sum) == sha256.Size
}

// secret returns the key with an id, or nil if there is no such key.
func (r *Ring) secret(ctx context.Context, id int64) ([]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if secret, ok := r.secrets[id]; ok {
		return secret, nil
	}
	// The key need not be newer than the keys of this ring. If two keys were made at once, this ring
	// may have read one of them before the other was committed.
	err := r.fetch(ctx)
	return r.secrets[id], err
}

// fetch reads the keys. The caller holds the lock, so concurrent callers wait for one read.
func (r *Ring) fetch(ctx context.Context) error {
	if !r.tried.IsZero() && time.Since(r.tried) < fetchEvery {
		return errs.Transient(ErrSoon)
	}
	r.tried = time.Now()
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	keys, err := r.store.WorkerKeys(ctx)
	if err != nil {
		return err
	}
	r.secrets = make(map[int64][]byte, len(keys))
	for _, k := range keys {
		r.secrets[k.ID] = k.Secret
	}
	r.newest, r.until = keys[0].ID, r.tried.Add(Signs-keys[0].Age)
	return nil
}

func mac(secret, text []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write(text)
	return h.Sum(nil)
}
