package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker"
	"github.com/pawl-run/pawl/internal/seal"
)

const secret = "s3same-of-a-test"

var here = broker.Binding{TenantID: "acme", ConnectionID: "c1", Provider: "github", Version: 3}

func newRing(t testing.TB) *seal.Ring {
	t.Helper()
	return must(seal.New())(t)
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func sealed(t testing.TB, s broker.Sealer) []byte {
	t.Helper()
	text, _, err := s.Seal([]byte(secret), here)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// opens reports whether something opens as the secret. What does not must fail in the one way that says nothing.
func opens(t testing.TB, s broker.Sealer, text []byte, at broker.Binding) bool {
	t.Helper()
	plain, err := s.Open(text, at)
	switch {
	case err == nil && string(plain) == secret:
		return true
	case err == nil:
		t.Errorf("something else opened: %q", plain)
	case !errors.Is(err, broker.ErrSealed) || err.Error() != broker.ErrSealed.Error():
		t.Errorf("the error says more: %v", err)
	}
	return false
}

// TestBinding: what is sealed opens where it was sealed for, and nowhere else.
func TestBinding(t *testing.T) {
	t.Parallel()
	r := newRing(t)
	text := sealed(t, r)
	if bytes.Contains(text, []byte(secret)) {
		t.Error("the secret stands in what is sealed")
	}
	if bytes.Equal(text, sealed(t, r)) {
		t.Error("the same secret is sealed to the same bytes")
	}
	if !opens(t, r, text, here) {
		t.Fatal("it does not open")
	}
	for _, at := range []broker.Binding{
		{TenantID: "globex", ConnectionID: "c1", Provider: "github", Version: 3},
		{TenantID: "acme", ConnectionID: "c2", Provider: "github", Version: 3},
		{TenantID: "acme", ConnectionID: "c1", Provider: "gitlab", Version: 3},
		{TenantID: "acme", ConnectionID: "c1", Provider: "github", Version: 4},
		{TenantID: "acme", ConnectionID: "c1", Provider: "github", Version: 3 + 1<<32},
		{TenantID: "acmec", ConnectionID: "1", Provider: "github", Version: 3},
		{TenantID: "acme", ConnectionID: "c1github", Version: 3},
		{},
	} {
		if opens(t, r, text, at) {
			t.Errorf("it opens at %+v", at)
		}
	}
}

// TestChanged: nothing of what is sealed can be changed.
func TestChanged(t *testing.T) {
	t.Parallel()
	r := newRing(t)
	text := sealed(t, r)
	for i := range text {
		changed := bytes.Clone(text)
		changed[i] ^= 1
		if opens(t, r, changed, here) || opens(t, r, text[:i], here) {
			t.Errorf("it opens with the byte %d changed, or without what follows", i)
		}
	}
	if opens(t, r, append(bytes.Clone(text), 0), here) || opens(t, r, nil, here) {
		t.Error("it opens with a byte more, or without any")
	}
}

// TestKeys: every key of a ring opens, and the first one seals; a key that is not there does not.
func TestKeys(t *testing.T) {
	t.Parallel()
	one := newRing(t)
	old := one.Primary()
	byOld := sealed(t, one)
	two, added, err := one.Add()
	if err != nil {
		t.Fatal(err)
	}
	if _, by, _ := two.Seal(nil, here); by != old || two.Primary() != old || len(one.Keys()) != 1 {
		t.Errorf("a key that was added seals: %+v, or it changed the ring that it was added to: %+v", two.Keys(), one.Keys())
	}
	three := must(two.Promote(added))(t)
	byNew := sealed(t, three)
	if _, by, _ := three.Seal(nil, here); by != added {
		t.Errorf("sealed by %d, not by %d", by, added)
	}
	for name, want := range map[string]struct {
		ring *seal.Ring
		text []byte
		want bool
	}{
		"the old ring opens the old":       {one, byOld, true},
		"the old ring lacks the new key":   {one, byNew, false},
		"a ring with both opens the old":   {two, byOld, true},
		"a ring with both opens the new":   {two, byNew, true},
		"the new ring opens the old":       {three, byOld, true},
		"another ring opens nothing":       {newRing(t), byOld, false},
		"without the old key it is closed": {must(three.Remove(old))(t), byOld, false},
		"without the old key the new is":   {must(three.Remove(old))(t), byNew, true},
	} {
		if opens(t, want.ring, want.text, here) != want.want {
			t.Errorf("%s: it is not so", name)
		}
	}
	for name, err := range map[string]error{
		"a key that is not there is promoted": second(three.Promote(7)), "the key that seals is removed": second(three.Remove(added)),
		"a key that is not there is removed": second(three.Remove(7)), "an id of 33 bits is one of 32": second(three.Promote(old + 1<<32)),
	} {
		if err == nil {
			t.Error(name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestEncode: a ring that is written down is the same ring; what is none is not read, nor quoted.
func TestEncode(t *testing.T) {
	t.Parallel()
	r, _, err := newRing(t).Add()
	if err != nil {
		t.Fatal(err)
	}
	text := must(r.Encode(nil))(t)
	again := must(seal.Parse(text, nil))(t)
	if fmt.Sprint(again.Keys()) != fmt.Sprint(r.Keys()) || !opens(t, again, sealed(t, r), here) {
		t.Errorf("%v became %v", r.Keys(), again.Keys())
	}
	if shown := fmt.Sprintf("%v %+v", r.Keys(), r.Primary()); strings.Contains(string(text), shown) || len(shown) > 200 {
		t.Errorf("the keys show %s", shown)
	}
	for _, wrong := range []string{"", "{}", secret, `{"primaryKeyId":1,"key":[]}`, `{"secret":"` + secret + `"}`, string(text[:len(text)/2])} {
		if _, err := seal.Parse([]byte(wrong), nil); !errors.Is(err, seal.ErrRing) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
}

// FuzzOpen: nothing opens that was not sealed, and nothing panics.
func FuzzOpen(f *testing.F) {
	r := newRing(f)
	text := sealed(f, r)
	f.Add(text, "acme", "c1", "github", 4)
	f.Add(text[:len(text)-1], "acme", "c1", "github", 3)
	f.Add([]byte{0xff, 0xff, 0xff, 0xff}, "", "", "", -1)
	f.Fuzz(func(t *testing.T, text2 []byte, tenantID, connectionID, provider string, version int) {
		at := broker.Binding{TenantID: tenantID, ConnectionID: connectionID, Provider: provider, Version: version}
		if opens(t, r, text2, at) && (!bytes.Equal(text, text2) || at != here) {
			t.Errorf("%x opens at %+v", text2, at)
		}
	})
}

// FuzzParse: what is no ring is refused, and what is one can be used.
func FuzzParse(f *testing.F) {
	f.Add(must(newRing(f).Encode(nil))(f))
	f.Add([]byte(`{"primaryKeyId":1,"key":[{"keyData":{"typeUrl":"type.googleapis.com/google.crypto.tink.AesGcmKey","value":"","keyMaterialType":"SYMMETRIC"},"status":"ENABLED","keyId":1,"outputPrefixType":"TINK"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := seal.Parse(text, nil)
		if err == nil && !opens(t, r, sealed(t, r), here) {
			t.Errorf("%s is a ring that does not open what it seals", text)
		}
	})
}
