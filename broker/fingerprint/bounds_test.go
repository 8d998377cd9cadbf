package fingerprint

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint/fingerprinttest"
)

// work is how many bytes a search decodes, and in how many layers.
func work(s *Set, text []byte, careful bool) (decoded, layers int) {
	r := newSearch(s, len(text), careful)
	before := r.room
	r.run(func(*layer, []span) bool { return true }, &layer{text: text, whole: true})
	return before - r.room, len(r.seen)
}

// bomb is what gzip makes of zeros, as base64: 64 MiB of them, many times.
func bomb(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<20)
	for range 64 {
		if _, err := w.Write(zeros); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return []byte(strings.Repeat(base64.StdEncoding.EncodeToString(b.Bytes())+" ", 4))
}

// TestWorkIsBounded counts what is decoded, for time depends on the machine.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	s := set(t, 3)
	for name, text := range results(t) {
		if decoded, _ := work(s, text, false); decoded > 6*len(text) {
			t.Errorf("%s: %d bytes are decoded of %d", name, decoded, len(text))
		}
	}
	texts := hostile()
	texts["bomb"] = bomb(t)
	for name, text := range texts {
		for _, careful := range []bool{false, true} {
			// The last layer may go beyond the bound by what one layer holds.
			decoded, _ := work(s, text, careful)
			if most := maxWork*len(text) + minWork + 2*len(text); decoded > most {
				t.Errorf("%s: %d bytes are decoded of %d, and %d are the most", name, decoded, len(text), most)
			}
			if limit := maxWork * len(text); !careful && name != "bomb" && decoded > limit {
				t.Errorf("%s: %d bytes are decoded of %d", name, decoded, len(text))
			}
		}
	}
}

// TestGapIsSearchedOnce: a gap in a secret has no letters, so each position in it ends the same squeezed window.
func TestGapIsSearchedOnce(t *testing.T) {
	t.Parallel()
	s := all(t)
	secret := shapes()["github"]
	for cut := range len(secret) {
		text := secret[:cut] + strings.Repeat("\n", 1<<16) + secret[cut:]
		if found := s.scan(&layer{text: []byte(text), whole: true}, true, map[string]bool{}); len(found) > windows {
			t.Fatalf("cut at byte %d, the secret is found %d times", cut, len(found))
		}
	}
	text := secret[:len(secret)/2] + strings.Repeat(`\n`, 1<<20) + secret[len(secret)/2:]
	if got := s.labelled(t, text); len(got) != 1 || got[0] != "github" {
		t.Errorf("found %q", got)
	}
	if clean := s.Redact(text); clean != Redacted {
		t.Errorf("redacted as %.100q", clean)
	}
}

// TestOriginsAreReadOnce: the places of a secret that repeats itself overlap, and each byte of them is cut once.
func TestOriginsAreReadOnce(t *testing.T) {
	t.Parallel()
	const secret = "k7Qx"
	s := &Set{}
	if err := s.Add("it", []byte(strings.Repeat(secret, 100))); err != nil {
		t.Fatal(err)
	}
	text := "a\\nb " + strings.Repeat(`\u006b7Qx`, 1000)
	cut := 0
	for _, p := range s.findParts([]byte(text)) {
		cut += p.to - p.from
	}
	if cut > len(text) {
		t.Errorf("%d bytes are cut out of %d", cut, len(text))
	}
	if clean := s.Redact(text); clean != "a\\nb [redacted]" {
		t.Errorf("redacted as %.100q", clean)
	}
}

// TestLeavesOthersAlone reads the repository and the modules that it is built with: Go, JSON, HTML, keys and certificates of tests, tables
// in base64 and hexadecimal. None of the secrets is in them.
func TestLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	const most = 8 << 20 // bytes
	s := &Set{}
	secrets := fingerprinttest.Secrets()
	for label, secret := range secrets {
		if err := s.Add(label, []byte(secret)); err != nil {
			t.Fatal(err)
		}
	}
	roots := []string{"../.."}
	if cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output(); err == nil {
		roots = append(roots, strings.TrimSpace(string(cache)))
	}
	for _, root := range roots {
		read, files := 0, 0
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				if entry != nil && (entry.Name() == "fingerprint" || entry.Name() == ".git") {
					return fs.SkipDir // the secrets are there
				}
				return err
			}
			if info, err := entry.Info(); err != nil || !info.Mode().IsRegular() || info.Size() > 4<<20 {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			read, files = read+len(text), files+1
			for _, m := range s.Find(text) {
				if !bytes.Contains(text, []byte(secrets[m.Label])) {
					t.Errorf("%s: found %v", path, m)
				}
			}
			if read > most {
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			t.Errorf("%s: %v", root, err)
		}
		t.Logf("%s: %d bytes of %d files", root, read, files)
	}
}
