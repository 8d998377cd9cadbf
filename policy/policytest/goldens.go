package policytest

import (
	"flag"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// Updating reports whether the golden files are rewritten.
func Updating() bool { return *update }

// Goldens is an archive of cases. A case is a file with the ending in. Its expected results are files with the
// same name, one for each ending in outs. Files with other endings are for all cases.
type Goldens struct {
	file, in string
	outs     []string
	*txtar.Archive
}

// ReadGoldens reads an archive.
func ReadGoldens(t *testing.T, file, in string, outs ...string) Goldens {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return Goldens{file, in, outs, archive}
}

// Each compares the results of every case, which resultsOf returns as one text for each of outs, with the texts in
// the archive. With -update it writes the results into the archive.
func (g Goldens) Each(t *testing.T, resultsOf func(t *testing.T, doc []byte) []string) {
	t.Helper()
	written := map[string][]byte{}
	for _, f := range g.Files {
		written[f.Name] = f.Data
	}
	fresh := &txtar.Archive{Comment: g.Comment}
	cases := 0
	for _, f := range g.Files {
		ext := strings.TrimPrefix(path.Ext(f.Name), ".")
		if slices.Contains(g.outs, ext) {
			continue
		}
		fresh.Files = append(fresh.Files, f)
		if ext != g.in {
			continue
		}
		cases++
		name, first := strings.TrimSuffix(f.Name, "."+ext), len(fresh.Files)
		for _, out := range g.outs {
			fresh.Files = append(fresh.Files, txtar.File{Name: name + "." + out, Data: written[name+"."+out]})
		}
		t.Run(name, func(t *testing.T) {
			for i, got := range resultsOf(t, f.Data) {
				if want := &fresh.Files[first+i]; *update {
					want.Data = []byte(got)
				} else if got != string(want.Data) {
					t.Errorf("%s: got\n%swant\n%s", want.Name, got, want.Data)
				}
			}
		})
	}
	if cases == 0 {
		t.Errorf("%s has no case", g.file)
	}
	if *update {
		if err := os.WriteFile(g.file, txtar.Format(fresh), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
