package worker

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/proof"
)

func TestAuditKey(t *testing.T) {
	signer, err := proof.NewSigner()
	if err != nil {
		t.Fatal(err)
	}
	private, err := signer.Encode()
	if err != nil {
		t.Fatal(err)
	}
	public, err := signer.Key().Encode()
	if err != nil {
		t.Fatal(err)
	}
	file := func(name string, text []byte, mode os.FileMode) string {
		name = filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(name, text, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	if got, err := readAuditKey(Config{}); got != nil || err != nil {
		t.Errorf("without a file: %v, %v", got, err)
	}
	if got, err := readAuditKey(Config{AuditKeyFile: file("key", private, 0o600)}); err != nil || got.Key().ID() != signer.Key().ID() {
		t.Errorf("%v, %v", got, err)
	}
	for name, c := range map[string]struct {
		file, want string
	}{
		"no file":      {filepath.Join(t.TempDir(), "none"), "no such file"},
		"others read":  {file("key", private, 0o644), "chmod 600"},
		"a public key": {file("key", public, 0o600), "has no private key: `pawl keys new --out FILE` makes one"},
		"something":    {file("key", []byte("s3same"), 0o600), "has no private key"},
		"a large file": {file("key", make([]byte, maxAuditKey+1), 0o600), "is larger than 4096 bytes"},
	} {
		got, err := readAuditKey(Config{AuditKeyFile: c.file})
		if got != nil || err == nil || !strings.HasPrefix(err.Error(), "config: PAWL_AUDIT_KEY: ") || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3same") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
