package e2etest

import (
	"testing"

	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// connections records calls that use a connection: one that does so in either lane, and one whose grant goes while its tool runs.
func (r *recorder) connections(t *testing.T) {
	w := newWorld(t, plainPolicy)
	v, s := newVault(w), newService(t, string(newCanary()))
	w.workWith(v.config(), worker.Tools(tool("test__read", fetch(s), connected, fast), tool("test__once", fetch(s), connected, once)))
	v.add("c1", s.provider(), s.token)
	v.grant("c1", actor)
	for name, toolID := range map[string]string{"connection_local": "test__read", "connection_regular": "test__once"} {
		inv := over(invocation(name, toolID, `{}`), "c1")
		wantText(t, w.invoke(inv), "200 welcome")
		receive(t, s.entered)
		r.ended(w, name, inv)
	}
	s.mu.Lock()
	s.hold = make(chan struct{})
	s.mu.Unlock()
	inv := over(invocation("connection_revoked", "test__once", `{}`), "c1")
	call := w.start(inv)
	receive(t, s.entered)
	v.revoke("c1", actor)
	wantCode(t, w.result(call), toolspec.CodeOutcomeUnknown)
	r.ended(w, "connection_revoked", inv)
}
