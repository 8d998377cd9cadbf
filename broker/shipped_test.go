package broker

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// TestShipped: what comes with Pawl is in order, of several kinds, and goes to no host in clear.
func TestShipped(t *testing.T) {
	t.Parallel()
	all, err := Shipped()
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[Kind]bool{}
	var ids []string
	for _, p := range all {
		kinds[p.Kind] = true
		ids = append(ids, p.ID)
		if err := p.Check(); err != nil || p.Insecure {
			t.Errorf("%s: %v, insecure %v", p.ID, err, p.Insecure)
		}
		if required, _, err := p.Parts(nil); err != nil || len(required) == 0 {
			t.Errorf("%s: %v, %v", p.ID, required, err)
		}
	}
	for _, want := range []Kind{APIKey, Bearer, Basic, OAuth} {
		if !kinds[want] {
			t.Errorf("there is no example of the kind %s", want)
		}
	}
	for _, want := range []string{"github", "slack", "stripe", "google"} {
		if !slices.Contains(ids, want) {
			t.Errorf("%s is not among %v", want, ids)
		}
	}
	if !slices.IsSorted(ids) || !slices.ContainsFunc(all, func(p Provider) bool { return p.Place != nil && p.Place.Query != "" }) {
		t.Errorf("%v are not sorted, or none takes its key in the query", ids)
	}
}

// TestMerge: nobody says anew what a known provider is.
func TestMerge(t *testing.T) {
	t.Parallel()
	_, err := Merge([]Provider{{ID: "b"}, {ID: "a"}}, []Provider{{ID: "b"}})
	if err == nil || !strings.Contains(err.Error(), `"b" is described twice`) {
		t.Errorf("%v", err)
	}
	broken := fstest.MapFS{"providers/x.yaml": {Data: []byte("id: x\nkind: bearer\n")}}
	if _, err := readAll(broken); err == nil || !strings.HasPrefix(err.Error(), "providers/x.yaml: ") {
		t.Errorf("%v", err)
	}
}
