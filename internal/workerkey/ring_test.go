package workerkey_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pawl-run/pawl/internal/workerkey"
	"github.com/pawl-run/pawl/internal/workerkey/workerkeytest"
	"github.com/pawl-run/pawl/toolspec/errs"
)

var text = []byte("what was judged")

// pass lets time go by, in a bubble where it costs none.
func pass(d time.Duration) { <-time.NewTimer(d).C }

func sign(t *testing.T, r *workerkey.Ring) string {
	t.Helper()
	signature, err := r.Sign(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	return signature
}

func verifies(t *testing.T, r *workerkey.Ring, signature string) bool {
	t.Helper()
	ok, err := r.Verify(t.Context(), text, signature)
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// TestSignatures: what one worker signs another verifies, and nothing else verifies.
func TestSignatures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &workerkeytest.Store{}
		signed := sign(t, workerkey.New(store))
		other := workerkey.New(store)
		if !verifies(t, other, signed) {
			t.Error("another worker does not verify it")
		}
		if ok, err := other.Verify(t.Context(), []byte("something else"), signed); ok || err != nil {
			t.Errorf("it verifies for another text: %v, %v", ok, err)
		}
		id, mac, _ := strings.Cut(signed, ".")
		for _, bad := range []string{"", ".", id, id + ".", "." + mac, "x." + mac, id + "." + mac[1:], id + "." + mac + "A", "9." + mac, "-1." + mac, id + ".!", sign(t, workerkeytest.New())} {
			pass(time.Minute) // so that the ring may look for a key that it does not know
			if verifies(t, other, bad) {
				t.Errorf("%q verifies", bad)
			}
		}
	})
}

// TestRotation: a key signs for a day; the next one reaches workers that have not heard of it, and old signatures stay good.
func TestRotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &workerkeytest.Store{}
		first, second := workerkey.New(store), workerkey.New(store)
		old := sign(t, first)
		asked := store.Asked
		for range 1000 {
			sign(t, first)
		}
		if store.Asked != asked {
			t.Errorf("signing asks the store %d times", store.Asked-asked)
		}
		if !verifies(t, second, old) {
			t.Error("the second worker does not know the first key")
		}
		pass(workerkey.Signs + time.Second)
		renewed := sign(t, first)
		if oldID, _, _ := strings.Cut(old, "."); strings.HasPrefix(renewed, oldID+".") {
			t.Errorf("after a day it signs with the same key: %s", renewed)
		}
		if !verifies(t, second, renewed) || !verifies(t, second, old) || !verifies(t, first, old) {
			t.Error("a signature is not good for every worker")
		}
		pass(workerkey.Kept)
		if verifies(t, workerkey.New(store), old) {
			t.Error("a key that has aged out verifies")
		}
	})
}

// TestMadeUpKeys: signatures that name keys which nobody has do not become questions to the database, one by one.
func TestMadeUpKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &workerkeytest.Store{}
		r := workerkey.New(store)
		_, mac, _ := strings.Cut(sign(t, r), ".")
		for range 1000 {
			pass(10 * time.Millisecond)
			if ok, err := r.Verify(t.Context(), text, "77."+mac); ok || err != nil && !errs.IsTransient(err) {
				t.Fatalf("%v, %v", ok, err)
			}
		}
		if store.Asked > 12 {
			t.Errorf("the store was asked %d times in ten seconds", store.Asked)
		}
	})
}

// TestAway: a worker that has a key goes on with it; one that has none says so, until the database is back.
func TestAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &workerkeytest.Store{}
		has, lacks := workerkey.New(store), workerkey.New(store)
		signed := sign(t, has)
		away := errs.Transient(errors.New("away"))
		store.Away = away
		pass(workerkey.Signs + time.Hour)
		if got := sign(t, has); got != signed || !verifies(t, has, signed) {
			t.Errorf("it signs %s, want %s", got, signed)
		}
		if _, err := lacks.Sign(t.Context(), text); !errs.IsTransient(err) {
			t.Errorf("it signs without a key: %v", err)
		}
		pass(time.Minute)
		if ok, err := lacks.Verify(t.Context(), text, signed); ok || !errs.IsTransient(err) {
			t.Errorf("it says %v, %v without knowing", ok, err)
		}
		store.Away = nil
		pass(time.Minute)
		if !verifies(t, lacks, signed) {
			t.Error("it does not find the key once the database is back")
		}
	})
}
