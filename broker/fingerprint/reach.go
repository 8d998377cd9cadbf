package fingerprint

const (
	// minReach and reachOf bound Reach: an encoding writes a byte in at most about ten bytes, as in &#x0041;, and something may stand
	// between the parts of a secret.
	minReach, reachOf = 4 << 10, 16
)

// Reach returns how many bytes of a text a secret of the set may take: 16 times the longest secret, and at least 4096; 0 if the set is
// empty. To search a text that comes in parts, search each part together with the last Reach bytes in front of it. Data that gzip or
// zlib packed is unpacked only if its beginning is in the text of that search.
func (s *Set) Reach() int {
	if s == nil {
		return 0
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	longest := 0
	for _, e := range s.labels {
		for _, f := range e.forms {
			if f.name == "plain" && !f.squeezed {
				longest = max(longest, f.length)
			}
		}
	}
	if longest == 0 {
		return 0
	}
	return max(minReach, reachOf*longest)
}
