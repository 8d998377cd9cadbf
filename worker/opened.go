package worker

// opened collects what was opened, to be closed on every way out of Run: the
// container runs its stop hooks only once everything has been made, and only
// for what has started.
type opened struct{ closers []func() }

func (o *opened) add(closer func()) { o.closers = append(o.closers, closer) }

// close closes the last one first.
func (o *opened) close() {
	for i := len(o.closers) - 1; i >= 0; i-- {
		o.closers[i]()
	}
	o.closers = nil
}
