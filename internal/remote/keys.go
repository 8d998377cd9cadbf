package remote

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"

	"github.com/pawl-run/pawl/internal/secretfile"
)

const (
	maxKeys = 64 << 10
	// minKey and maxKey bound a key, in bytes.
	minKey = 32
	maxKey = 64
)

var keyName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

// Keys are the keys that remote workers share with the worker, by id. They do not show in texts.
type Keys struct{ byID map[string]key }

type key struct {
	// text is the key as the file has it, and what the search for secrets looks for.
	text   string
	secret []byte
}

// String hides the keys.
func (k Keys) String() string { return fmt.Sprintf("%d keys", len(k.byID)) }

// GoString hides the keys.
func (k Keys) GoString() string { return k.String() }

// Has reports whether there is a key with this id.
func (k Keys) Has(id string) bool { return k.byID[id].secret != nil }

// Each calls yield with the id of each key and its forms: the text of the file, and its bytes.
func (k Keys) Each(yield func(id string, forms ...[]byte)) {
	for id, k := range k.byID {
		yield(id, []byte(k.text), k.secret)
	}
}

// ReadKeys reads a file of keys that only its owner may read. Each line has an id and the key in base64, 32 to 64
// bytes. Empty lines, and lines that begin with #, do not count. Errors hold no key.
func ReadKeys(path string) (Keys, error) {
	text, err := secretfile.Read(path, maxKeys)
	if err != nil {
		return Keys{}, err
	}
	keys := Keys{byID: map[string]key{}}
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 2 || !keyName.MatchString(fields[0]) {
			return Keys{}, fmt.Errorf("line %d must have the id of a key and the key in base64", i+1)
		}
		secret, err := base64.StdEncoding.DecodeString(fields[1])
		if err != nil || len(secret) < minKey || len(secret) > maxKey {
			return Keys{}, fmt.Errorf("line %d: the key must be %d to %d bytes in base64 (create one with \"openssl rand -base64 32\")", i+1, minKey, maxKey)
		}
		if keys.Has(fields[0]) {
			return Keys{}, fmt.Errorf("line %d: the file has two keys with this id", i+1)
		}
		keys.byID[fields[0]] = key{fields[1], secret}
	}
	return keys, nil
}
