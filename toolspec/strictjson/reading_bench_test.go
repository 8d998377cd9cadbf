package strictjson

import (
	"strings"
	"testing"
)

// twoKilobytes are the arguments of an everyday call.
func twoKilobytes() []byte {
	return []byte(`{"id":"ISSUE-4711","title":"The ratchet slips when the pawl is worn","body":"` + strings.Repeat("It was seen twice on Monday. ", 40) +
		`","labels":["bug","hardware","p2","needs-triage"],"assignee":{"login":"mira","email":"mira@example.com","admin":false},"state":"open","priority":2,"estimate":3.5,` +
		`"draft":false,"milestone":null,"due":"2026-12-01","repo":"pawl-run/pawl","branch":"fix/ratchet","commits":[` +
		strings.TrimSuffix(strings.Repeat(`{"sha":"0a1b2c3d4e5f","message":"Replace the spring"},`, 6), ",") +
		`],"reviewers":["jo","sam"],"parent":4700,"locked":true,"reason":null,"meta":{"team":"core","area":"drive"},"score":0.75}`)
}

func BenchmarkCheck(b *testing.B) {
	args := twoKilobytes()
	b.ReportAllocs()
	b.SetBytes(int64(len(args)))
	for b.Loop() {
		if Check(args) != nil {
			b.Fatal("refused")
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	args := twoKilobytes()
	b.ReportAllocs()
	b.SetBytes(int64(len(args)))
	for b.Loop() {
		if _, err := Canonical(args); err != nil {
			b.Fatal(err)
		}
	}
}
