package examples_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/internal/devstack/devstacktest"
	"github.com/pawl-run/pawl/toolspec"
)

// connection: somebody adds the connection and grants it, a person approves the refund, and the credential goes to the shop.
func connection(t *testing.T, w *world) {
	const token = "a1b2c3d4-token-of-the-shop"
	shop := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token || r.URL.Path != "/refunds" {
			rw.WriteHeader(http.StatusBadRequest)
			return
		}
		rw.WriteHeader(http.StatusCreated)
		_, _ = fmt.Fprint(rw, `{"refundId":"R-1","iban":"DE02120300000000202051"}`)
	}))
	defer shop.Close()
	provider, err := os.ReadFile("connection/provider.yaml")
	if err != nil {
		t.Fatal(err)
	}
	local := strings.Replace(string(provider), "hosts: [api.shop.example]", "hosts: ['"+shop.Listener.Addr().String()+"']\ninsecure: true", 1)
	if local == string(provider) {
		t.Fatal("the description of the shop names another host")
	}
	w.write("provider.yaml", local)
	w.write("token.txt", token)
	w.pawl("keyring", "new", "ring.json")
	w.env = append(w.env, "PAWL_KEYRING_FILE="+filepath.Join(w.workspace, "ring.json"))
	w.work("connection", "-shop", shop.URL)
	w.pawl("connections", "add", "shop", "--providers", "provider.yaml", "--provider", "shop", "--secret-file", "token.txt", "--scope", "refunds", "--by", "user:root")
	const refund = `{"orderId":"A-1001","cents":500}`
	if got := w.invoke("shop__refund", refund, "--connection", "shop"); got.ErrorCode != toolspec.CodePolicyDenied {
		t.Errorf("without a grant: %+v", got)
	}
	w.pawl("connections", "grant", "shop", "--to", "agent:cli", "--all-scopes", "--by", "user:root")
	w.write("ann.pub", w.pawl("keys", "new", "--out", "ann.pem"))
	w.pawl("keys", "register", "--identity", "user:ann", "ann.pub", "--by", "user:root")
	w.pawl("invoke", "shop__refund", "--args", refund, "--connection", "shop", "--call", "asked", "--detach")
	var waiting []struct{ ApprovalID string }
	w.until(func() bool {
		return json.Unmarshal([]byte(w.pawl("approvals", "--json")), &waiting) == nil && len(waiting) == 1
	}, "the refund waits for a person", &devstacktest.Log{})
	w.pawl("approve", waiting[0].ApprovalID, "--as", "user:ann", "--key", "ann.pem")
	if got := w.invoke("shop__refund", refund, "--connection", "shop", "--call", "asked"); string(compact(t, got.Value)) != `{"refundId":"R-1"}` {
		t.Errorf("the refund: %+v", got)
	}
}

// write makes a file in the workspace that nobody else reads.
func (w *world) write(name, text string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(w.workspace, name), []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
