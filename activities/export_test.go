package activities

// Places is how many calls the process remembers to have asked for places.
func (a *Activities) Places() int {
	a.places.mu.Lock()
	defer a.places.mu.Unlock()
	return len(a.places.asked)
}
