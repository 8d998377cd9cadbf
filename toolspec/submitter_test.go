package toolspec_test

import (
	"encoding/hex"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

// TestSubmitterKeyID: a contract, for proofs that others sign. The key is the first
// one of RFC 8032; its digest is from sha256sum.
func TestSubmitterKeyID(t *testing.T) {
	t.Parallel()
	public, err := hex.DecodeString("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
	if err != nil {
		t.Fatal(err)
	}
	if got := toolspec.SubmitterKeyID(public); got != "21fe31dfa154a261626bf854046fd227" {
		t.Errorf("the key is called %s", got)
	}
}
