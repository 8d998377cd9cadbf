package docsgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/toolspec/hydrate"
)

// vectors are the test vectors of the contract, as the tests of package hydrate
// keep them.
type vectors struct {
	Identities []struct {
		Note         string `json:"note"`
		TenantID     string `json:"tenantId"`
		RunID        string `json:"runId"`
		ToolCallID   string `json:"toolCallId"`
		WorkflowID   string `json:"workflowId"`
		InvocationID string `json:"invocationId"`
	} `json:"identities"`
	InputDigests []struct {
		Note        string          `json:"note"`
		Invocation  json.RawMessage `json:"invocation"`
		Canonical   string          `json:"canonical"`
		InputDigest string          `json:"inputDigest"`
	} `json:"inputDigests"`
	ApprovalDigests []struct {
		Note      string           `json:"note"`
		Approved  hydrate.Approved `json:"approved"`
		Canonical string           `json:"canonical"`
		Digest    string           `json:"digest"`
	} `json:"approvalDigests"`
}

// vectorTables quotes the test vectors, and refuses one that the code does not
// confirm.
func vectorTables(root string) (map[string]string, error) {
	file := filepath.Join(root, "toolspec", "hydrate", "testdata", "vectors.json")
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var v vectors
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(v.Identities) == 0 || len(v.InputDigests) == 0 || len(v.ApprovalDigests) == 0 {
		return nil, fmt.Errorf("%s: a list is empty", file)
	}
	ids, err := v.ids()
	if err != nil {
		return nil, err
	}
	inputs, err := v.inputs()
	if err != nil {
		return nil, err
	}
	approvals, err := v.approvals()
	if err != nil {
		return nil, err
	}
	return map[string]string{"id vectors": ids, "input digest vectors": inputs, "approval digest vectors": approvals}, nil
}

func (v vectors) ids() (string, error) {
	var rows [][]string
	for _, c := range v.Identities {
		id := toolspec.Identity{TenantID: c.TenantID, RunID: c.RunID, ToolCallID: c.ToolCallID}
		if id.WorkflowID() != c.WorkflowID || id.InvocationID() != c.InvocationID {
			return "", fmt.Errorf("the identity %q is not what the code says", c.Note)
		}
		rows = append(rows, []string{short(c.TenantID), short(c.RunID), short(c.ToolCallID), short(c.WorkflowID), code(c.InvocationID)})
	}
	return "`a{120}` stands for 120 times a.\n\n" + table([]string{"tenantId", "runId", "toolCallId", "workflow id", "invocationId"}, rows), nil
}

// short writes long repetitions as a{120}.
func short(s string) string {
	var b strings.Builder
	for s != "" {
		n := len(s) - len(strings.TrimLeft(s, s[:1]))
		if n < 20 {
			n = 1
			b.WriteString(s[:1])
		} else {
			b.WriteString(s[:1] + "{" + strconv.Itoa(n) + "}")
		}
		s = s[n:]
	}
	return code(b.String())
}

func (v vectors) inputs() (string, error) {
	var b strings.Builder
	for _, c := range v.InputDigests {
		inv, fault := hydrate.Decode(c.Invocation)
		if fault != nil {
			return "", fault
		}
		digest, err := hydrate.InputDigest(inv)
		if err != nil {
			return "", err
		}
		if digest != c.InputDigest {
			return "", fmt.Errorf("the input digest %q is not what the code says", c.Note)
		}
		if err := vector(&b, c.Note, "json invocation", c.Invocation, c.Canonical, c.InputDigest); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func (v vectors) approvals() (string, error) {
	var b strings.Builder
	for _, c := range v.ApprovalDigests {
		digest, err := c.Approved.Digest()
		if err != nil {
			return "", err
		}
		if digest != c.Digest {
			return "", fmt.Errorf("the approval digest %q is not what the code says", c.Note)
		}
		raw, err := json.Marshal(c.Approved)
		if err != nil {
			return "", err
		}
		if err := vector(&b, c.Note, "json", raw, c.Canonical, c.Digest); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// vector writes what goes in, its canonical form and its digest.
func vector(b *strings.Builder, note, language string, in json.RawMessage, canonical, digest string) error {
	var compact bytes.Buffer
	if err := json.Compact(&compact, in); err != nil {
		return err
	}
	fmt.Fprintf(b, "%s:\n\n```%s\n%s\n```\n\n```json\n%s\n```\n\n%s\n\n", strings.ToUpper(note[:1])+note[1:], language, compact.String(), canonical, code(digest))
	return nil
}
