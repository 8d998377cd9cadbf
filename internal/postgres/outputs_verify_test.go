package postgres_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/verify"
	"github.com/pawl-run/pawl/toolspec/output"
)

// TestVerifyOutputs: a search for secrets reads every stored output: complete or being written, of every tenant, across chunks, with one
// finding for each output. An expired output is not read, and an output that cannot be read is reported.
func TestVerifyOutputs(t *testing.T) {
	t.Parallel()
	b := open(t)
	const secret = "sk_live_8TqZ0vLm3RkXw7Nd"
	var secrets fingerprint.Set
	if err := secrets.Add("the key", []byte(secret)); err != nil {
		t.Fatal(err)
	}
	// at returns a text of about 2 MB that has the secret at this byte.
	at := func(place int) []byte {
		text := bytes.Repeat([]byte("a quiet line of text\n"), 100_000)
		copy(text[place:], secret)
		return text
	}
	var want []string
	for i, place := range []int{0, 512<<10 - 10, 2_000_000} {
		call := fmt.Sprint("call_", i)
		b.admit(call)
		want = append(want, b.streamed(streamRow(call), at(place)))
	}
	b.admit("clean")
	b.streamed(streamRow("clean"), bytes.Repeat([]byte("nothing\n"), 100_000))
	b.admit("expired")
	expired := b.streamed(streamRow("expired"), at(0))
	b.sql(`UPDATE outputs SET expires_at = now() WHERE ref = $1`, expired)
	b.admit("writing")
	open := b.NewOutput(streamRow("writing"))
	if err := open.Write(t.Context(), at(0)); err != nil {
		t.Fatal(err)
	}
	want = append(want, value[string](b, `SELECT ref FROM outputs WHERE state = 'writing'`))
	b.admit("damaged")
	damaged := b.streamed(streamRow("damaged"), at(0))
	b.sql(`UPDATE output_chunks SET data = '\x00' WHERE output_id = (SELECT id FROM outputs WHERE ref = $1)`, damaged)

	var found, unread []string
	v := verify.New(&secrets, verify.Options{
		Found:  func(f verify.Finding) { found = append(found, f.Key) },
		Unread: func(p verify.Place) { unread = append(unread, p.Key) },
	})
	if err := v.Outputs(t.Context(), b.Store); err != nil {
		t.Fatal(err)
	}
	for i := range want {
		want[i] = "ref=" + want[i]
	}
	slices.Sort(want)
	slices.Sort(found)
	if !slices.Equal(found, want) || !slices.Equal(unread, []string{"ref=" + damaged}) {
		t.Errorf("found %q, want %q; not read %q", found, want, unread)
	}
	if n := v.Report().Outputs; n != 6 {
		t.Errorf("%d outputs were read", n)
	}
}

// TestEachOutput: EachOutput visits more outputs than one statement returns, each once and in order, and returns the error of visit.
func TestEachOutput(t *testing.T) {
	t.Parallel()
	b := open(t)
	b.admit("call_1")
	for i := range 120 {
		b.saved("call_1", i+1, "A")
	}
	var refs []string
	visit := func(info output.Info, chunks iter.Seq2[output.Chunk, error]) error {
		refs = append(refs, info.Ref)
		for c, err := range chunks {
			if err != nil || string(c.Data) != `"large"` {
				t.Errorf("%s: %q, %v", info.Ref, c.Data, err)
			}
		}
		return nil
	}
	if err := b.EachOutput(t.Context(), visit); err != nil {
		t.Fatal(err)
	}
	if all := slices.Compact(slices.Sorted(slices.Values(refs))); len(refs) != 120 || len(all) != 120 {
		t.Errorf("%d visits of %d outputs", len(refs), len(all))
	}
	if err := b.EachOutput(t.Context(), func(output.Info, iter.Seq2[output.Chunk, error]) error { return context.Canceled }); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
