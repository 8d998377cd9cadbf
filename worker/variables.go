package worker

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/pawl-run/pawl/policy/suggest"
)

// variables has the environment variables of Pawl: of workers, of the commands, of a key ring that
// a KMS encrypts, and of the programs that test Pawl.
var variables = strings.Fields(`
	PAWL_APPROVER PAWL_APPROVER_KEY
	PAWL_AUDIT_KEY
	PAWL_BUILD_ID PAWL_DEPLOYMENT
	PAWL_CODEC_KEYS PAWL_CODEC_KEYS_FILE PAWL_CODEC_PLAIN PAWL_CODEC_TOKEN
	PAWL_CONNECTION_KEY
	PAWL_DATABASE_CONNECTIONS PAWL_DATABASE_DIRECT_URL PAWL_DATABASE_URL PAWL_DATABASE_URL_FILE
	PAWL_DEV_DIR
	PAWL_DISABLED_TOOLS
	PAWL_HEALTH_LISTEN
	PAWL_HTTP_TOOLS
	PAWL_KEYRING PAWL_KEYRING_FILE PAWL_KMS_KEY
	PAWL_LOG_LEVEL
	PAWL_MCP_SERVERS
	PAWL_MODEL_PRICES PAWL_MODEL_REQUESTS PAWL_MODEL_URLS
	PAWL_NOTIFY_LOG PAWL_NOTIFY_SECRET PAWL_NOTIFY_SECRET_FILE PAWL_NOTIFY_URL
	PAWL_OIDC_AS PAWL_OIDC_CLAIM PAWL_OIDC_CLIENT_ID PAWL_OIDC_FILE PAWL_OIDC_ISSUER PAWL_OIDC_NAME PAWL_OIDC_TENANTS
	PAWL_OUTPUT_BUCKET PAWL_OUTPUT_QUOTA PAWL_OUTPUT_RETENTION
	PAWL_OPENFGA_MODEL PAWL_OPENFGA_STORE PAWL_OPENFGA_TOKEN PAWL_OPENFGA_URL
	PAWL_POLICY
	PAWL_POOL
	PAWL_POSTGRES_PORT
	PAWL_REMOTE_KEYS PAWL_REMOTE_LISTEN PAWL_REMOTE_TOOLS PAWL_REMOTE_URL
	PAWL_RETENTION
	PAWL_SEARCH PAWL_SEARCH_ATTRIBUTES PAWL_SEARCH_URL
	PAWL_SHELL PAWL_SHELL_MEMORY PAWL_SHELL_WITHOUT
	PAWL_STICKY_CACHE
	PAWL_SWEEP_EVERY
	PAWL_TEMPORAL_UI
	PAWL_TENANT
	PAWL_TRIGGER_DATABASE_URL PAWL_TRIGGER_DATABASE_URL_FILE PAWL_TRIGGER_FILES
	PAWL_VERIFY_EVERY
	PAWL_WEB_PORTS
	PAWL_WORKSPACE
	PAWL_CHAOS_FORGET PAWL_CHAOS_LEDGER PAWL_CHAOS_POINTS PAWL_CRASH_AT PAWL_CRASH_BY PAWL_LEDGER PAWL_SEED
`)

// serviceLink matches the variables that Kubernetes sets for a service whose name begins with pawl.
var serviceLink = regexp.MustCompile(`^PAWL_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_[0-9]+_(TCP|UDP|SCTP)(_.+)?)?)$`)

// UnknownVariables returns, in order, the names in environ that begin with PAWL_ and have a value,
// but that no part of Pawl reads. Most likely such a name is misspelled. environ has the form of
// os.Environ.
func UnknownVariables(environ []string) (unknown []string) {
	for _, entry := range environ {
		name, value, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "PAWL_") && value != "" && !strings.Contains(name, "_TEST_") && !slices.Contains(variables, name) && !serviceLink.MatchString(name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	return unknown
}

// SuggestVariable returns a sentence about a name that UnknownVariables returned, with the variable that was probably meant.
func SuggestVariable(name string) string {
	text := "nothing reads the environment variable " + name
	if like := suggest.Nearest(name, variables); like != "" {
		return text + ": did you mean " + like + "?"
	}
	return text + ": remove it, or give it a name that does not begin with PAWL_"
}

// CheckVariables returns an error if environ has a variable of Pawl that nothing reads. A worker does not start with one: it would run
// without a setting that its operator wants.
func CheckVariables(environ []string) error {
	var sentences []string
	for _, name := range UnknownVariables(environ) {
		sentences = append(sentences, SuggestVariable(name))
	}
	if len(sentences) == 0 {
		return nil
	}
	return errors.New("config: " + strings.Join(sentences, "; "))
}
