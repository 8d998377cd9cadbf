package attempt

import (
	"slices"

	"github.com/pawl-run/pawl/workflows/contract"
)

// claims holds the claims that a run can account for: their attempts answered, or a probe or a
// person said whether they took effect. Every other claim of the call belongs to an attempt
// without an answer.
type claims struct {
	known []knownClaim
}

// knownClaim is a claim that the run can account for.
type knownClaim struct {
	contract.Claim
	// repeatable says that another attempt may follow this attempt, even if the tool is
	// not repeatable.
	repeatable bool
	// over says that the tool of the attempt no longer runs, or has no effect any more.
	over bool
}

// addAnswer adds the claim of an attempt that answered. repeatable says that another
// attempt may follow this attempt. An answer without a claim id came before any claim and
// says nothing about the existing claims, so addAnswer ignores it.
func (c *claims) addAnswer(dispatch int, out contract.ExecuteOut, repeatable bool) {
	if out.ClaimID != "" {
		c.known = append(c.known, knownClaim{contract.Claim{Dispatch: dispatch, ID: out.ClaimID}, repeatable, !out.LeftBehind})
	}
}

// resolve adds claims whose attempts a probe or a person has accounted for. None of these
// claims prevents another attempt. Their tools have ended, or the service refuses their requests,
// or the call ends now.
func (c *claims) resolve(all []contract.Claim) {
	for _, claim := range all {
		c.known = append(c.known, knownClaim{claim, true, true})
	}
}

// repeatable returns the claims after which another attempt is safe.
func (c *claims) repeatable() []contract.Claim {
	return c.filter(func(k knownClaim) bool { return k.repeatable })
}

// over returns the claims whose tool no longer runs.
func (c *claims) over() []contract.Claim {
	return c.filter(func(k knownClaim) bool { return k.over })
}

// accounted returns all claims that the run can account for.
func (c *claims) accounted() []contract.Claim {
	return c.filter(func(knownClaim) bool { return true })
}

// filter returns the claims for which fits returns true, each claim once.
func (c *claims) filter(fits func(knownClaim) bool) []contract.Claim {
	var found []contract.Claim
	for _, k := range c.known {
		if fits(k) && !slices.Contains(found, k.Claim) {
			found = append(found, k.Claim)
		}
	}
	return found
}
