package worker

// opened has functions that close resources. Run calls them even if the start fails. The stop
// hooks of the container are not enough: the container runs them only after it has made all parts,
// and only for the parts that have started.
type opened struct{ closers []func() }

func (o *opened) add(closer func()) { o.closers = append(o.closers, closer) }

// close calls the functions. It begins with the function that was added last.
func (o *opened) close() {
	for i := len(o.closers) - 1; i >= 0; i-- {
		o.closers[i]()
	}
	o.closers = nil
}
