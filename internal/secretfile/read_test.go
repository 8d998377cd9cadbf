package secretfile

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("no permissions to look at")
	}
	dir := t.TempDir()
	const secret = "ghp_16C7e42F292c"
	for _, tc := range []struct {
		mode  os.FileMode
		most  int64
		fault string
	}{
		{0o600, 16, ""}, {0o400, 100, ""}, {0o640, 100, "(mode 0640)"}, {0o604, 100, "(mode 0604)"}, {0o602, 100, "(mode 0602)"}, {0o600, 15, "larger than 15 bytes"},
	} {
		path := filepath.Join(dir, "f")
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tc.mode); err != nil {
			t.Fatal(err)
		}
		text, err := Read(path, tc.most)
		if tc.fault == "" {
			if err != nil || string(text) != secret {
				t.Errorf("%o: %q, %v", tc.mode, text, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), tc.fault) || strings.Contains(err.Error(), secret) || text != nil {
			t.Errorf("%o: %q, %v", tc.mode, text, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := Read(path, 10); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
