package deploycheck

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
)

// image is a directory with the files of the image, built as the Dockerfile builds them.
type image struct{ dir string }

// buildImage runs the commands of the Dockerfile that make files: `go build` on what .dockerignore leaves of the repository, and the
// directories. It does not read the instructions of the Dockerfile otherwise.
func buildImage(t *testing.T) image {
	t.Helper()
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	file := strings.ReplaceAll(string(text), "\\\n", " ")
	build := regexp.MustCompile(`CGO_ENABLED=0 go build (.*) -o /pawl (\S+)`).FindStringSubmatch(file)
	directories := regexp.MustCompile(`RUN (mkdir -p /image.*)`).FindStringSubmatch(file)
	if build == nil || directories == nil {
		t.Fatal("the Dockerfile builds in another way")
	}
	for _, instruction := range []string{"USER 65532:65532", "WORKDIR /workspace", `ENTRYPOINT ["/pawl"]`, `CMD ["worker"]`} {
		if !strings.Contains(file, "\n"+instruction+"\n") {
			t.Errorf("the Dockerfile lacks %s", instruction)
		}
	}
	dir := t.TempDir()
	source, root := filepath.Join(dir, "src"), filepath.Join(dir, "image")
	copyContext(t, source)
	run(t, source, "sh", "-ec", strings.ReplaceAll(directories[1], "/image", root))
	// An engine makes these, for every container.
	for _, name := range []string{"proc", "dev"} {
		if err := os.Mkdir(filepath.Join(root, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	run(t, source, "sh", "-ec", "CGO_ENABLED=0 go build "+build[1]+" -o "+filepath.Join(root, "pawl")+" "+build[2])
	return image{dir: root}
}

// copyContext copies what the builder of an image gets.
func copyContext(t *testing.T, to string) {
	t.Helper()
	ignored, err := os.Open("../../.dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	defer ignored.Close()
	patterns, err := ignorefile.ReadAll(ignored)
	if err != nil {
		t.Fatal(err)
	}
	matcher, err := patternmatcher.New(patterns)
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel("../..", path)
		if err != nil || name == "." {
			return err
		}
		skip, err := matcher.MatchesOrParentMatches(name)
		switch {
		case err != nil:
			return err
		case skip && entry.IsDir():
			return fs.SkipDir
		case skip || entry.IsDir() || !entry.Type().IsRegular():
			return nil
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, name)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, name), content, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, out)
	}
}

// inContainer is a script that runs a command as a container of docker-compose.yml does: with the files of the image as a root that
// cannot be written, volumes at some directories, memory at /tmp, as user 65532, and without a capability. Its arguments are the root,
// the directories of volumes with commas between them, and those of the program.
const inContainer = `set -e
root=$1 volumes=$2; shift 2
mount --bind "$root" "$root"
IFS=,; for volume in $volumes; do mount --bind "$root$volume" "$root$volume"; done
mount -t tmpfs tmpfs "$root/tmp"
for kernel in /proc /dev; do mount --rbind "$kernel" "$root$kernel"; done
mount -o remount,bind,ro "$root"
exec unshare --user --map-user=65532 --map-group=65532 --root="$root" --wd=/workspace "$@"
`

// command returns a command in a container of the image. The first of args is the program.
func (i image) command(t *testing.T, volumes, env, args []string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "unshare", append([]string{"--map-root-user", "--mount", "sh", "-c", inContainer, "container", i.dir, strings.Join(volumes, ",")}, args...)...)
	cmd.Env = slices.Concat([]string{"HOME=/"}, env)
	return cmd
}
