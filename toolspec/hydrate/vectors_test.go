package hydrate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// vectors are the test vectors that docs/contract.md quotes. This program did not generate them:
// ids are hashes of the parts, and digests are hashes of `canonical`, RFC 8785 JSON written by
// hand. TestVectors repeats this with SHA-256 only. No flag rewrites the vectors, because they are
// the contract.
type vectors struct {
	Identities []struct {
		Note, TenantID, RunID, ToolCallID, WorkflowID, InvocationID string
	}
	InputDigests []struct {
		Note        string
		Invocation  json.RawMessage
		Canonical   string
		InputDigest string
	}
	ApprovalDigests []struct {
		Note      string
		Approved  hydrate.Approved
		Canonical string
		Digest    string
	}
}

func loadVectors(t *testing.T) vectors {
	t.Helper()
	text, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v vectors
	if err := json.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	if len(v.Identities) == 0 || len(v.InputDigests) == 0 || len(v.ApprovalDigests) == 0 {
		t.Fatal("a list is empty")
	}
	return v
}

func sha(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func TestVectors(t *testing.T) {
	v := loadVectors(t)
	for _, tc := range v.Identities {
		t.Run(tc.Note, func(t *testing.T) {
			id := toolspec.Identity{TenantID: tc.TenantID, RunID: tc.RunID, ToolCallID: tc.ToolCallID}
			if err := id.Check(); err != nil {
				t.Error(err)
			}
			if got := id.WorkflowID(); got != tc.WorkflowID || len(got) > 255 {
				t.Errorf("workflow id %s, want %s", got, tc.WorkflowID)
			}
			if got := id.InvocationID(); got != tc.InvocationID {
				t.Errorf("invocation id %s, want %s", got, tc.InvocationID)
			}
			h := sha(tc.TenantID + "\x00" + tc.RunID + "\x00" + tc.ToolCallID)
			plain := tc.InvocationID[:8] + tc.InvocationID[9:13] + tc.InvocationID[15:18] + tc.InvocationID[20:23] + tc.InvocationID[24:]
			if want := h[:12] + h[13:16] + h[17:32]; plain != want {
				t.Errorf("the vector is %s, the hash %s", plain, want)
			}
		})
	}
	for _, tc := range v.InputDigests {
		t.Run(tc.Note, func(t *testing.T) {
			if want := sha(tc.Canonical); tc.InputDigest != want {
				t.Errorf("the vector says %s, its canonical form hashes to %s", tc.InputDigest, want)
			}
			inv, fault := hydrate.Decode(tc.Invocation)
			if fault != nil {
				t.Fatal(fault)
			}
			if got, err := hydrate.InputDigest(inv); err != nil || got != tc.InputDigest {
				t.Errorf("got %s (%v), want %s", got, err, tc.InputDigest)
			}
		})
	}
	for _, tc := range v.ApprovalDigests {
		t.Run(tc.Note, func(t *testing.T) {
			if want := sha(tc.Canonical); tc.Digest != want {
				t.Errorf("the vector says %s, its canonical form hashes to %s", tc.Digest, want)
			}
			if got, err := tc.Approved.Digest(); err != nil || got != tc.Digest {
				t.Errorf("got %s (%v), want %s", got, err, tc.Digest)
			}
		})
	}
}
