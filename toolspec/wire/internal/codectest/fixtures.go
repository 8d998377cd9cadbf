package codectest

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/pawl-run/pawl/toolspec/wire"
)

var update = flag.Bool("update", false, "rewrite what fixtures want")

// Fixture is an archive of testdata: a response of one format, and the View that the codec must
// make of it.
type Fixture struct {
	Name string
	// Response or Stream is the input; the other one is nil.
	Response, Stream []byte
	Want             []byte

	path    string
	archive *txtar.Archive
}

// Fixtures reads testdata/*.txtar. An archive has a file response.json or
// stream.txt, and want.json.
func Fixtures(t testing.TB) []Fixture {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var all []Fixture
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f := Fixture{Name: strings.TrimSuffix(filepath.Base(path), ".txtar"), path: path, archive: archive}
		for _, file := range archive.Files {
			switch file.Name {
			case "response.json":
				f.Response = file.Data
			case "stream.txt":
				f.Stream = file.Data
			case "want.json":
				f.Want = file.Data
			default:
				t.Fatalf("%s: what is %s?", path, file.Name)
			}
		}
		if (f.Response == nil) == (f.Stream == nil) {
			t.Fatalf("%s: want either response.json or stream.txt", path)
		}
		all = append(all, f)
	}
	return all
}

// Golden decodes every fixture and compares the View with the expected one, member by member. It
// decodes a stream in one piece, in two pieces for each possible cut, and byte by byte.
func Golden(t *testing.T, codec wire.Codec) {
	t.Helper()
	for _, f := range Fixtures(t) {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			if f.Response != nil {
				r, err := codec.Decode(f.Response)
				f.compare(t, Show(t, r, err))
				return
			}
			whole := Read(t, codec, f.Stream)
			f.compare(t, whole)
			for cut := range len(f.Stream) {
				same(t, "cut in two", cut, Read(t, codec, f.Stream[:cut], f.Stream[cut:]), whole)
			}
			single := make([][]byte, len(f.Stream))
			for i := range single {
				single[i] = f.Stream[i : i+1]
			}
			same(t, "byte by byte", 0, Read(t, codec, single...), whole)
			f.truncate(t, codec, whole)
			f.arriving(t, codec)
		})
	}
}

// truncate ends the stream after each byte. A call of the truncated stream that may run must be a
// call of the whole stream, at the same place and with the same arguments. Only the Fault may
// differ, because the rest of the stream may contain an error.
func (f Fixture) truncate(t *testing.T, codec wire.Codec, whole View) {
	t.Helper()
	for cut := range len(f.Stream) {
		for i, c := range Read(t, codec, f.Stream[:cut]).Calls {
			if c.Fault != "" {
				continue
			}
			if i < len(whole.Calls) {
				c.Fault = whole.Calls[i].Fault
			}
			if i >= len(whole.Calls) || !reflect.DeepEqual(c, whole.Calls[i]) {
				t.Errorf("ended at %d: the call %d may run, and is not of the stream", cut, i)
			}
		}
	}
}

// arriving compares the text that a stream gives before its end with the text of its response, for a
// stream in pieces of several sizes.
func (f Fixture) arriving(t *testing.T, codec wire.Codec) {
	t.Helper()
	for _, size := range []int{1, 7, 100, len(f.Stream)} {
		s := codec.Stream()
		var text, refused strings.Builder
		for piece := range slices.Chunk(f.Stream, size) {
			if _, err := s.Write(piece); err != nil {
				refused.WriteString(err.Error())
			}
			text.WriteString(s.Text())
		}
		r, err := s.End()
		if text.String() != r.Text {
			t.Errorf("in pieces of %d the text %q arrived, and the response has %q (%v, %s)", size, text.String(), r.Text, err, refused.String())
		}
	}
}

func (f Fixture) compare(t *testing.T, got View) {
	t.Helper()
	if *update {
		f.set("want.json", got.Encode(t))
		if err := os.WriteFile(f.path, txtar.Format(f.archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	SameJSON(t, f.Name, got.Encode(t), f.Want)
}

func (f Fixture) set(name string, data []byte) {
	for i := range f.archive.Files {
		if f.archive.Files[i].Name == name {
			f.archive.Files[i].Data = data
			return
		}
	}
	f.archive.Files = append(f.archive.Files, txtar.File{Name: name, Data: data})
}

func same(t *testing.T, how string, at int, got, want View) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s at %d: got\n%s\nwant\n%s", how, at, got.Encode(t), want.Encode(t))
	}
}

// Read writes the pieces to a stream and returns the view of its response. It continues after an
// error of Write, as a careless caller does. The test fails if a later Write then succeeds, because
// the error of a stream is final.
func Read(t testing.TB, codec wire.Codec, pieces ...[]byte) View {
	t.Helper()
	s := codec.Stream()
	refused := ""
	for _, p := range pieces {
		given := append([]byte(nil), p...)
		n, err := s.Write(given)
		clear(given) // the stream must not keep the slice
		if err == nil && n != len(p) {
			t.Errorf("took %d of %d bytes without an error", n, len(p))
		}
		if err != nil && refused == "" {
			refused = err.Error()
		}
		if err == nil && refused != "" {
			t.Errorf("went on behind %q", refused)
		}
	}
	r, err := s.End()
	v := Show(t, r, err)
	v.Refused = refused
	return v
}

// GoldenJSON compares JSON with a file, member by member. With -update, it writes the file first.
func GoldenJSON(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, append(indent(got), '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	SameJSON(t, path, got, want)
}
