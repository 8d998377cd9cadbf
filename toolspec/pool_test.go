package toolspec_test

import (
	"strings"
	"testing"

	"github.com/pawl-run/pawl/toolspec"
)

func TestPool(t *testing.T) {
	t.Parallel()
	for name, good := range map[string]bool{
		"media": true, "a": true, "team-2": true, "2": true, strings.Repeat("a", toolspec.MaxPool): true,
		"": false, "-": false, "-a": false, "a-": false, "Media": false, "a.b": false, "a b": false, "a\n": false, "é": false, "a_b": false,
		strings.Repeat("a", toolspec.MaxPool+1): false,
	} {
		if err := toolspec.CheckPool(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
		pool, ok := toolspec.PoolOf(toolspec.PoolQueue(name))
		if want := good || name == ""; ok != want || ok && pool != name {
			t.Errorf("the queue of %q is of the pool %q, %v", name, pool, ok)
		}
	}
	for _, queue := range []string{"", "paw", "pawl-", "pawl2", "other", "pawl-A"} {
		if pool, ok := toolspec.PoolOf(queue); ok {
			t.Errorf("the queue %q is of the pool %q", queue, pool)
		}
	}
}
