package histories

import (
	"testing"

	"github.com/pawl-run/pawl/internal/e2etest"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/worker"
)

// connections records calls that use a connection: one in each lane, and one whose grant is revoked while its tool runs.
func (r *recorder) connections(t *testing.T) {
	w := e2etest.NewWorld(t, e2etest.PlainPolicy)
	v, s := e2etest.NewVault(w), e2etest.NewService(t, string(e2etest.NewCanary()))
	w.WorkWith(v.Config(), worker.Tools(e2etest.Tool("test__read", e2etest.Fetch(s), e2etest.Connected, e2etest.Fast),
		e2etest.Tool("test__once", e2etest.Fetch(s), e2etest.Connected, e2etest.Once)))
	v.Add("c1", s.Provider(), s.Token)
	v.Grant("c1", e2etest.Actor)
	for name, toolID := range map[string]string{"connection_local": "test__read", "connection_regular": "test__once"} {
		inv := e2etest.Over(e2etest.Invocation(name, toolID, `{}`), "c1")
		e2etest.WantText(t, w.Invoke(inv), "200 welcome")
		e2etest.Receive(t, s.Entered)
		r.ended(w, name, inv)
	}
	s.Mu.Lock()
	s.Hold = make(chan struct{})
	s.Mu.Unlock()
	inv := e2etest.Over(e2etest.Invocation("connection_revoked", "test__once", `{}`), "c1")
	call := w.Start(inv)
	e2etest.Receive(t, s.Entered)
	v.Revoke("c1", e2etest.Actor)
	e2etest.WantCode(t, w.Result(call), toolspec.CodeOutcomeUnknown)
	r.ended(w, "connection_revoked", inv)
}
