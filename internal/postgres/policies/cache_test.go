package policies

import (
	"testing"

	"github.com/pawl-run/pawl/policy"
)

func TestPolicyCacheDropsTheLongestUnused(t *testing.T) {
	p := policy.Development()
	c := newPolicyCache(2)
	c.put("a", p)
	c.put("b", p)
	c.get("a")
	c.put("a", p)
	c.put("c", p)
	if c.get("a") == nil || c.get("b") != nil || c.get("c") == nil {
		t.Errorf("%v", c.at)
	}
	if c.order.Len() != 2 || len(c.at) != 2 {
		t.Errorf("%d and %d entries", c.order.Len(), len(c.at))
	}
}
