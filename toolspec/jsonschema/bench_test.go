package jsonschema

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// BenchmarkCompile measures one document with every keyword.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compile(json.RawMessage(ruleDoc)); err != nil {
			b.Fatal(err)
		}
	}
}

// foreignDocs returns n different documents as servers publish them.
func foreignDocs(n int) []json.RawMessage {
	kinds := []string{twenty, ruleDoc}
	docs := make([]json.RawMessage, n)
	for i := range docs {
		docs[i] = json.RawMessage(strings.Replace(kinds[i%len(kinds)], `"properties":{`, fmt.Sprintf(`"properties":{"own%d":{"type":"string"},`, i), 1))
	}
	return docs
}

// BenchmarkCompileThousand: Issue 7 requires a thousand foreign documents within a second.
func BenchmarkCompileThousand(b *testing.B) {
	docs := foreignDocs(1000)
	for b.Loop() {
		for _, doc := range docs {
			if _, err := Compile(doc); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// twenty is a schema with twenty properties of common types.
const twenty = `{"type":"object","additionalProperties":false,"required":["id","title","body","labels","assignee"],"properties":{
"id":{"type":"string","minLength":1,"maxLength":64},"title":{"type":"string","maxLength":200},"body":{"type":"string","maxLength":4000},
"labels":{"type":"array","items":{"type":"string","maxLength":50},"maxItems":20},
"assignee":{"type":"object","required":["login"],"additionalProperties":false,"properties":{"login":{"type":"string"},"email":{"type":"string"},"admin":{"type":"boolean"}}},
"state":{"enum":["open","closed","merged"]},"priority":{"type":"integer","minimum":1,"maximum":5},"estimate":{"type":"number","minimum":0},
"draft":{"type":"boolean"},"milestone":{"type":["string","null"]},"due":{"type":"string"},"repo":{"type":"string","pattern":"^[a-z0-9-]+/[a-z0-9-]+$"},
"branch":{"type":"string"},"commits":{"type":"array","items":{"type":"object","required":["sha"],"additionalProperties":false,"properties":{"sha":{"type":"string","minLength":7},"message":{"type":"string"}}}},
"reviewers":{"type":"array","items":{"type":"string"}},"parent":{"type":"integer"},"locked":{"type":"boolean"},"reason":{"anyOf":[{"type":"string"},{"type":"null"}]},
"meta":{"type":"object","additionalProperties":{"type":"string"}},"score":{"type":"number"}}}`

// twoKB returns arguments of about 2 KiB for twenty.
func twoKB() json.RawMessage {
	return json.RawMessage(`{"id":"ISSUE-4711","title":"The ratchet slips when the pawl is worn","body":"` + strings.Repeat("It was seen twice on Monday. ", 40) +
		`","labels":["bug","hardware","p2","needs-triage"],"assignee":{"login":"mira","email":"mira@example.com","admin":false},"state":"open","priority":2,"estimate":3.5,` +
		`"draft":false,"milestone":null,"due":"2026-12-01","repo":"pawl-run/pawl","branch":"fix/ratchet","commits":[` +
		strings.TrimSuffix(strings.Repeat(`{"sha":"0a1b2c3d4e5f","message":"Replace the spring"},`, 6), ",") +
		`],"reviewers":["jo","sam"],"parent":4700,"locked":true,"reason":null,"meta":{"team":"core","area":"drive"},"score":0.75}`)
}

// BenchmarkValidate measures a valid call of common size.
func BenchmarkValidate(b *testing.B) {
	s, args := compiled(b, twenty), twoKB()
	b.ReportAllocs()
	b.SetBytes(int64(len(args)))
	for b.Loop() {
		if s.Validate(args) != nil {
			b.Fatal("invalid")
		}
	}
}

// BenchmarkExplain measures the same call with two faults, with explanations.
func BenchmarkExplain(b *testing.B) {
	s, args := compiled(b, twenty), json.RawMessage(strings.Replace(string(twoKB()), `"priority":2`, `"priority":9,"unknown":1`, 1))
	b.ReportAllocs()
	for b.Loop() {
		if len(s.Validate(args)) != 2 {
			b.Fatal("problems")
		}
	}
}

// wrongResult returns a result of 10 MiB in which every element is invalid.
func wrongResult() json.RawMessage {
	return json.RawMessage(`{"l":[1` + strings.Repeat(",1", 5<<20) + `]}`)
}

// BenchmarkExplainLarge measures a large result that is invalid throughout.
func BenchmarkExplainLarge(b *testing.B) {
	s, result := compiled(b, `{"type":"object","properties":{"l":{"type":"array","items":{"type":"string"}}}}`), wrongResult()
	b.ReportAllocs()
	for b.Loop() {
		if len(s.Validate(result)) != maxProblems {
			b.Fatal("problems")
		}
	}
}

// BenchmarkValidateAtTheBound measures the longest validation that maxEffort allows.
func BenchmarkValidateAtTheBound(b *testing.B) {
	s := compiled(b, `{"type":"object","properties":{"x":{"oneOf":[{"$ref":"#"},{"$ref":"#"},{"$ref":"#"}]}}}`)
	instance := json.RawMessage(strings.Repeat(`{"x":`, 40) + `{}` + strings.Repeat(`}`, 40))
	for b.Loop() {
		s.Validate(instance)
	}
}
