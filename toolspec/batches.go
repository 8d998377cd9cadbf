package toolspec

// Batches groups the calls of one response of a model, by their index from 0 to n-1. The calls of a batch may
// run at the same time, and a batch runs after the batch before it: adjacent calls are in one batch, and a call
// for which alone reports true has a batch of its own.
func Batches(n int, alone func(i int) bool) (all [][]int) {
	open := false
	for i := range n {
		isAlone := alone(i)
		if open && !isAlone {
			all[len(all)-1] = append(all[len(all)-1], i)
			continue
		}
		all = append(all, []int{i})
		open = !isAlone
	}
	return all
}
