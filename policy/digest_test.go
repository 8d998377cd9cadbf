package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"testing"
)

const plainDoc = `
version: 1
tenants:
  acme:
    allowedTools: [core__*]
    mode: auto
    rules:
      - tool: core__write_file
        decision: deny
        message: <no> & "é"
`

// The same, as it is stored.
const plainSource = `{"tenants":{"acme":{"allowedTools":["core__*"],"approvals":{"allowSelfApproval":false,"allowUnsigned":false,"enabled":true,"expiresAfter":"24h0m0s"},"mode":"auto","rules":[{"decision":"deny","message":"<no> & \"é\"","tool":"core__write_file"}]}},"version":1}`

// printf '%s' of plainSource | sha256sum
const plainDigest = "5a9505000da336733b783cb30e45e98a8485517b09b4b3b4d84b6a47cf6097fd"

func TestDigestVector(t *testing.T) {
	p := mustParse(t, plainDoc)
	if got := string(p.Source()); got != plainSource {
		t.Errorf("source\n%s\nwant\n%s", got, plainSource)
	}
	if p.Digest() != plainDigest {
		t.Errorf("digest %s, want %s", p.Digest(), plainDigest)
	}
	sum := sha256.Sum256(p.Source())
	if p.Digest() != hex.EncodeToString(sum[:]) {
		t.Error("the digest is not the hash of the source")
	}
	p.Source()[0] = 'x'
	if !bytes.Equal(p.Source(), []byte(plainSource)) {
		t.Error("Source gives the policy's own bytes away")
	}
	if (*Policy)(nil).Digest() != "" || (*Policy)(nil).Source() != nil {
		t.Error("no policy has a digest or a source")
	}
}

func TestDigestIgnoresForm(t *testing.T) {
	for name, doc := range map[string]string{
		"flow and order": `{tenants: {acme: {rules: [{message: '<no> & "é"', decision: deny, tool: core__write_file}], mode: auto, allowedTools: [core__*]}}, version: 1}`,
		"comments":       "# why\n" + plainDoc + "# end\n",
		"escapes":        `{"version":1,"tenants":{"acme":{"allowedTools":["core__\u002a"],"mode":"auto","rules":[{"tool":"core__write_file","decision":"deny","message":"\u003cno> & \"\u00e9\""}]}}}`,
		"stored":         plainSource,
		"no reviews":     plainDoc + "\nmcp: {}\n",
		"defaults": plainDoc + `
    requireApprovalForEffects: []
    budgets: {}
    approvals: {enabled: true, expiresAfter: 1d, allowSelfApproval: false, allowUnsigned: false}
`,
	} {
		if got := mustParse(t, doc).Digest(); got != plainDigest {
			t.Errorf("%s: digest %s", name, got)
		}
	}
}

func TestDigestSeesMeaning(t *testing.T) {
	seen := map[string]string{plainDigest: "plain"}
	for name, doc := range map[string]string{
		"mode":      acme("    allowedTools: [core__*]\n    mode: ask\n"),
		"tool":      acme("    allowedTools: [core__x]\n    mode: ask\n"),
		"tenant":    "version: 1\ntenants: {beta: {allowedTools: [core__*], mode: ask}}\n",
		"effect":    acme("    allowedTools: [core__*]\n    requireApprovalForEffects: [read_only]\n"),
		"expiry":    acme("    allowedTools: [core__*]\n    approvals: {expiresAfter: 2d}\n"),
		"unsigned":  acme("    allowedTools: [core__*]\n    approvals: {allowUnsigned: true}\n"),
		"self":      acme("    allowedTools: [core__*]\n    approvals: {allowSelfApproval: true}\n"),
		"off":       acme("    allowedTools: [core__*]\n    approvals: {enabled: false}\n"),
		"approvers": acme("    allowedTools: [core__*]\n    approvals: {approvers: [user:a]}\n"),
		"budget":    acme("    allowedTools: [core__*]\n    budgets: {deadlineMs: 1}\n"),
		"budget 2":  acme("    allowedTools: [core__*]\n    budgets: {maxRuntimeMs: 1}\n"),
		"budget 3":  acme("    allowedTools: [core__*]\n    budgets: {maxResultBytes: 1}\n"),
		"rule":      acme("    allowedTools: [core__*]\n    rules: [{tool: core__x, decision: deny}]\n"),
		"decision":  acme("    allowedTools: [core__*]\n    rules: [{tool: core__x, decision: allow}]\n"),
		"risk":      acme("    allowedTools: [core__*]\n    rules: [{tool: core__x, risk: high}]\n"),
		"message":   acme("    allowedTools: [core__*]\n    rules: [{tool: core__x, decision: deny, message: m}]\n"),
		"effects":   acme("    allowedTools: [core__*]\n    rules: [{tool: core__x, decision: deny, effects: [read_only]}]\n"),
		"when":      acme("    allowedTools: [core__*]\n    rules: [{tool: core__x, decision: deny, when: 'args.n > 1'}]\n"),
		"when 2":    acme("    allowedTools: [core__*]\n    rules: [{tool: core__x, decision: deny, when: 'args.n > 2'}]\n"),
		"roles":     acme("    allowedTools: [core__*]\n    roles: {a: [user:a]}\n"),
		"roles 2":   acme("    allowedTools: [core__*]\n    roles: {a: [user:b]}\n"),
		"of a role": acme("    allowedTools: [core__*]\n    roles: {a: [user:a]}\n    rules: [{tool: core__x, roles: [a], decision: deny}]\n"),
		"feature":   acme("    allowedTools: [core__*]\n    features: {a: {tools: [core__x], enabled: true}}\n"),
		"feature 2": acme("    allowedTools: [core__*]\n    features: {a: {tools: [core__x], enabled: false}}\n"),
		"override":  acme("    allowedTools: [core__*]\n    overrides: [{tool: core__x, mode: auto}]\n"),
		"every":     "version: 1\ntenants: {\"*\": {allowedTools: [core__*], mode: ask}}\n",
		"server":    acme("    allowedTools: [core__*]\n") + "mcp: {github: {}}\n",
		"review":    acme("    allowedTools: [core__*]\n") + review(digestA, "low"),
		"review 2":  acme("    allowedTools: [core__*]\n") + review(digestB, "low"),
		"risks":     acme("    allowedTools: [core__*]\n    rules: [{tool: core__x, decision: deny, risks: [low]}]\n"),
	} {
		digest := mustParse(t, doc).Digest()
		if other, twice := seen[digest]; twice {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[digest] = name
	}
}
