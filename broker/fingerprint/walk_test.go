package fingerprint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestRepeatsAreNotHashed searches for secrets whose windows a text has everywhere. It counts allocations, because each digest of a form
// takes two of them, and time depends on the machine.
func TestRepeatsAreNotHashed(t *testing.T) { // not parallel: it counts the allocations of the process
	row, gap := strings.Repeat("A", 1000), strings.Repeat("\n", 1<<16)
	for name, tc := range map[string]struct{ secret, text string }{
		"a row of one letter":             {"k7Qx" + row + "z9Wb", strings.Repeat("A", 1<<16)},
		"a secret that repeats itself":    {strings.Repeat("k7Qx", 250), strings.Repeat("k7Qx", 1<<14)},
		"a secret with a period of five":  {strings.Repeat("k7Qxz", 200), strings.Repeat("k7Qxz", 1<<14)},
		"a row with a gap at each letter": {"k7Qx" + row + "z9Wb", strings.Repeat("A. ", 1<<16)},
		"a repeated secret with gaps":     {strings.Repeat("k7Qx", 250), strings.Repeat("k.7. Q. x", 1<<13)},
		"another secret with a gap":       {"k7Qx" + row + "z9Wb", "k7Qx" + row[:503] + gap + row[503:] + "z9Wa"},
	} {
		s := &Set{}
		if err := s.Add("it", []byte(tc.secret)); err != nil {
			t.Fatal(err)
		}
		allocated := testing.AllocsPerRun(1, func() {
			s.scan(&layer{text: []byte(tc.text), whole: true}, true, map[string]bool{})
		})
		if allocated > 500 {
			t.Errorf("%s: %.0f allocations for a text of %d bytes", name, allocated, len(tc.text))
		}
	}
}

// TestEveryPlaceIsFound compares the places of secrets that repeat themselves with those that a search for the plain text finds.
func TestEveryPlaceIsFound(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 1000 {
		unit := "k7QxA.z-9"[:4+random.IntN(6)]
		secret := strings.Repeat(unit, 8)[:12+random.IntN(20)]
		var text strings.Builder
		for text.Len() < 400 {
			text.WriteString(strings.Repeat(unit, random.IntN(12)))
			text.WriteString(unit[random.IntN(len(unit)):])
			if random.IntN(4) == 0 {
				fmt.Fprint(&text, random.IntN(100))
			}
		}
		s := &Set{}
		if err := s.Add("it", []byte(secret)); err != nil {
			t.Fatal(err)
		}
		places := map[int]bool{}
		for _, sp := range s.scan(&layer{text: []byte(text.String()), whole: true}, true, map[string]bool{}) {
			if sp.form.name == "plain" && !sp.form.squeezed {
				places[sp.from] = true
			}
		}
		for from := range text.Len() {
			is := strings.HasPrefix(text.String()[from:], secret)
			if places[from] != is {
				t.Fatalf("%q at %d of %q: found is %v", secret, from, text.String(), places[from])
			}
			if is {
				found++
			}
		}
	}
	if found < 3000 {
		t.Errorf("the texts have %d places", found)
	}
}
