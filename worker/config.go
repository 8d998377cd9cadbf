package worker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"github.com/pawl-run/pawl/internal/health"
	"github.com/pawl-run/pawl/internal/telemetry"
)

// Config is the configuration of a worker, from the environment or from flags.
type Config struct {
	// Temporal has the options of the Temporal client. LoadConfig reads them from the variables
	// TEMPORAL_* and from profiles.
	Temporal client.Options
	// TemporalUI is the address of the Temporal UI, for links: PAWL_TEMPORAL_UI.
	TemporalUI string
	// DatabaseURL is the value of PAWL_DATABASE_URL, the content of the file that PAWL_DATABASE_URL_FILE names (mode 0600),
	// or the value of DATABASE_URL. It is a secret.
	DatabaseURL string
	// DatabaseDirectURL is the address of the Postgres server itself, if DatabaseURL leads through a pooler: PAWL_DATABASE_DIRECT_URL. Notifications
	// and migrations use it. It is a secret.
	DatabaseDirectURL string
	// TriggerDatabaseURL is the address of the database whose notifications are events of triggers: PAWL_TRIGGER_DATABASE_URL, or the content of the file
	// that PAWL_TRIGGER_DATABASE_URL_FILE names. Without it, no notification is an event. It is a secret.
	TriggerDatabaseURL string
	// TriggerFiles makes changes of files in the workspace events of triggers: PAWL_TRIGGER_FILES=on. Workspace must not have {run} then.
	TriggerFiles bool
	// dev is the directory of the `pawl dev` that runs these servers, or empty.
	dev string
	// Pool makes the worker poll the task queue of a pool instead of the shared task queue: PAWL_POOL, 1–40
	// characters of a-z 0-9 -. Workers of the shared queue take in every call. If only workers of a pool have the
	// tool of a call, the call moves to that pool.
	Pool string
	// Deployment makes the worker a version of a Worker Deployment of Temporal.
	Deployment Deployment
	// Workspace is the directory that file tools can access: PAWL_WORKSPACE. {tenant} and {run} in it
	// give each tenant, or each run, a directory of its own. The default is the working directory; with
	// Shell there is no default.
	Workspace string
	// PolicyFile is the name of a policy file: PAWL_POLICY. At the start, the worker makes this
	// policy active if no policy is active or if ApplyPolicy is set.
	PolicyFile  string
	ApplyPolicy bool
	// SearchAttributes says that calls write search attributes. PAWL_SEARCH_ATTRIBUTES=off sets it
	// to false.
	SearchAttributes bool
	// ConnectionKey is the key of the hash of connections in search attributes:
	// PAWL_CONNECTION_KEY. It is a secret.
	ConnectionKey []byte
	// Connections is the maximum number of database connections: PAWL_DATABASE_CONNECTIONS,
	// 4–1000.
	Connections int
	// SweepEvery is the interval of the schedule of the sweeper: PAWL_SWEEP_EVERY, at least a
	// second. With 0 (PAWL_SWEEP_EVERY=off) the worker makes no schedule.
	SweepEvery time.Duration
	// VerifyEvery is the interval at which workers search closed histories for secrets:
	// PAWL_VERIFY_EVERY, at least a minute. With 0 there is no search.
	VerifyEvery time.Duration
	// RetentionDays is how long a settled call is kept: PAWL_RETENTION, 1–3650
	// days; 0 means 400.
	RetentionDays int
	// OutputQuota is how much the stored outputs of one tenant may use, in bytes, compressed:
	// PAWL_OUTPUT_QUOTA; 0 means 20 GiB.
	OutputQuota int64
	// OutputDays is how long a stored output is kept: PAWL_OUTPUT_RETENTION, 1–3650 days, and not longer
	// than RetentionDays; 0 means 30.
	OutputDays int
	// OutputBucket is the address of the bucket that has the data of stored outputs, s3://bucket/prefix:
	// PAWL_OUTPUT_BUCKET; "" means that Postgres has it.
	OutputBucket string
	// OpenFGA configures an OpenFGA server that authorizes calls instead of the built-in engine.
	// The zero value means the built-in engine.
	OpenFGA OpenFGA
	// Notify configures the receivers of notices about approval requests. The zero value has no
	// receivers.
	Notify Notify
	// KeyRing opens the credentials of connections.
	KeyRing KeyRing
	// Web configures the tools for the web.
	Web Web
	// Codec encrypts the payloads that Temporal stores. The zero value encrypts nothing.
	Codec Codec
	// encrypted says that Temporal already has the converters of Codec.
	encrypted bool
	// HTTPTools is a file, or a directory of files, with HTTP tools: PAWL_HTTP_TOOLS.
	HTTPTools string
	// RemoteTools is a file, or a directory of files, with tools that remote workers run: PAWL_REMOTE_TOOLS.
	RemoteTools string
	// RemoteKeysFile is the name of a file with the keys of remote workers, which only its owner may read:
	// PAWL_REMOTE_KEYS.
	RemoteKeysFile string
	// RemoteListen is the loopback address at which remote workers redeem leases of connections: PAWL_REMOTE_LISTEN.
	RemoteListen string
	// RemoteURL is the https address of a proxy in front of RemoteListen, for workers on other hosts: PAWL_REMOTE_URL.
	RemoteURL string
	// AuditKeyFile is the name of a file with the private key that signs the audit trail, which only its owner may read: PAWL_AUDIT_KEY.
	AuditKeyFile string
	// ModelPrices is the name of a file with the prices of models: PAWL_MODEL_PRICES.
	ModelPrices string
	// DisabledTools has the tools that the worker does not offer: a tool id, or a prefix of ids
	// and *. PAWL_DISABLED_TOOLS has the same list, separated by commas. The worker does not need
	// the capabilities of these tools.
	DisabledTools []string
	// MCPServersFile is the name of a file of MCP servers whose tools the worker offers: PAWL_MCP_SERVERS.
	MCPServersFile string
	// ModelURLs are the base URLs of models that agents may ask without a connection: PAWL_MODEL_URLS.
	ModelURLs []string
	// ModelRequests is the maximum number of requests to models of one tenant at the same time: PAWL_MODEL_REQUESTS, default 200.
	ModelRequests int
	// OIDC has the issuers whose ID tokens prove the identity of approvers. PAWL_OIDC_FILE names a
	// file of issuers; PAWL_OIDC_ISSUER configures one issuer.
	OIDC []OIDCIssuer
	// Shell says how core__shell runs scripts. The zero value turns the tool off.
	Shell Shell
	// HealthListen is the address at which the worker answers probes: PAWL_HEALTH_LISTEN. A port, or an address without a host,
	// is one of the loopback interface. "" means that it answers none.
	HealthListen string
	// board has the checks that probes see.
	board *health.Board
	// OTLP says which signals the worker sends by OTLP. The variables OTEL_* name the receiver.
	OTLP OTLP
	// telemetry has the metrics and the traces of the worker.
	telemetry *telemetry.Telemetry
	// Log is the log of the worker. nil means text on standard error. LoadConfig sets a log with
	// the level PAWL_LOG_LEVEL.
	Log *slog.Logger
}

// Bounds of Config.Connections. Each local activity needs a database connection, so a worker runs fewer local
// activities than it has connections: an activity that waits for a connection could exceed the timeout of its workflow
// task.
const (
	defaultConnections = 20
	minConnections     = 4
	maxConnections     = 1000
	// spareConnections is the number of connections that local activities do not use. They are for
	// claims, the outbox relay and reads of the policy.
	spareConnections = 3
	// idlePolls is the number of polls for workflow tasks that the SDK begins with, on the queue of the worker and on
	// its sticky queue. Each poll takes one of the places for workflow tasks.
	idlePolls = 10
)

// Bounds of the sweeper.
const (
	// DefaultSweepEvery is the interval of the sweeper if the operator sets none.
	DefaultSweepEvery    = time.Minute
	minSweepEvery        = time.Second
	minVerifyEvery       = time.Minute
	defaultRetentionDays = 400
	maxRetentionDays     = 3650
)

// LoadConfig reads the environment. If a `pawl dev` runs for the working directory, the configuration
// has its servers and its key ring, unless PAWL_DATABASE_URL or TEMPORAL_ADDRESS names another server.
// An error names the variable and says what to do.
func LoadConfig() (Config, error) {
	temporal, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return Config{}, fmt.Errorf("config: TEMPORAL_*: %w", err)
	}
	c := Config{
		Temporal:          temporal,
		TemporalUI:        os.Getenv("PAWL_TEMPORAL_UI"),
		DatabaseDirectURL: os.Getenv("PAWL_DATABASE_DIRECT_URL"),
		Pool:              os.Getenv("PAWL_POOL"),
		Deployment:        loadDeployment(),
		Workspace:         os.Getenv("PAWL_WORKSPACE"),
		PolicyFile:        os.Getenv("PAWL_POLICY"),
		MCPServersFile:    os.Getenv("PAWL_MCP_SERVERS"),
		SearchAttributes:  os.Getenv("PAWL_SEARCH_ATTRIBUTES") != "off",
		ConnectionKey:     []byte(os.Getenv("PAWL_CONNECTION_KEY")),
		Connections:       defaultConnections,
		ModelRequests:     defaultModelRequests,
		OpenFGA:           loadOpenFGA(),
		KeyRing:           loadKeyRing(),
	}
	database, err := loadDatabaseURL()
	if err != nil {
		return Config{}, err
	}
	if c.TriggerDatabaseURL, err = LoadTriggerURL(); err != nil {
		return Config{}, err
	}
	if c.TriggerFiles, err = LoadTriggerFiles(); err != nil {
		return Config{}, err
	}
	c.DatabaseURL = cmp.Or(database, os.Getenv("DATABASE_URL"))
	if text := os.Getenv("PAWL_DATABASE_CONNECTIONS"); text != "" {
		if c.Connections, err = strconv.Atoi(text); err != nil {
			return Config{}, errors.New("config: PAWL_DATABASE_CONNECTIONS is not a number")
		}
		if err := checkConnections(c.Connections); err != nil {
			return Config{}, err
		}
	}
	if c.Codec, err = LoadCodec(); err != nil {
		return Config{}, err
	}
	if c, err = c.withEncryption(); err != nil {
		return Config{}, err
	}
	if c.SweepEvery, c.RetentionDays, err = loadSweeper(); err != nil {
		return Config{}, err
	}
	if err := loadOutputs(&c); err != nil {
		return Config{}, err
	}
	if c.Web, err = loadWeb(); err != nil {
		return Config{}, err
	}
	if c.Notify, err = loadNotify(); err != nil {
		return Config{}, err
	}
	if text := os.Getenv("PAWL_VERIFY_EVERY"); text != "" && text != "off" {
		if c.VerifyEvery, err = time.ParseDuration(text); err != nil || c.VerifyEvery < minVerifyEvery {
			return Config{}, fmt.Errorf("config: PAWL_VERIFY_EVERY must be a duration of at least %s, or off", minVerifyEvery)
		}
	}
	if c, err = c.loadModels(); err != nil {
		return Config{}, err
	}
	c.HTTPTools = os.Getenv("PAWL_HTTP_TOOLS")
	c.RemoteTools, c.RemoteKeysFile = os.Getenv("PAWL_REMOTE_TOOLS"), os.Getenv("PAWL_REMOTE_KEYS")
	c.RemoteListen, c.RemoteURL = os.Getenv("PAWL_REMOTE_LISTEN"), os.Getenv("PAWL_REMOTE_URL")
	c.HealthListen, c.AuditKeyFile = os.Getenv("PAWL_HEALTH_LISTEN"), os.Getenv("PAWL_AUDIT_KEY")
	if c.OTLP, err = loadOTLP(); err != nil {
		return Config{}, err
	}
	c.DisabledTools = words(os.Getenv("PAWL_DISABLED_TOOLS"))
	if c.Shell, err = loadShell(); err != nil {
		return Config{}, err
	}
	if c.OIDC, err = loadOIDC(); err != nil {
		return Config{}, err
	}
	level := slog.LevelInfo
	if text := os.Getenv("PAWL_LOG_LEVEL"); text != "" {
		if err := level.UnmarshalText([]byte(text)); err != nil {
			return Config{}, errors.New("config: PAWL_LOG_LEVEL must be debug, info, warn or error")
		}
	}
	c.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	return c.findDev(database)
}

// loadSweeper reads the interval of the sweeper and the retention from the environment.
func loadSweeper() (every time.Duration, days int, err error) {
	every, days = DefaultSweepEvery, defaultRetentionDays
	switch text := os.Getenv("PAWL_SWEEP_EVERY"); text {
	case "":
	case "off":
		every = 0
	default:
		if every, err = time.ParseDuration(text); err != nil || every == 0 {
			return 0, 0, errors.New("config: PAWL_SWEEP_EVERY must be a duration such as 1m, or off")
		}
	}
	if text := os.Getenv("PAWL_RETENTION"); text != "" {
		if days, err = strconv.Atoi(text); err != nil {
			return 0, 0, errors.New("config: PAWL_RETENTION is not a number of days")
		}
	}
	return every, days, checkSweeper(every, days)
}

func checkSweeper(every time.Duration, days int) error {
	if every != 0 && every < minSweepEvery {
		return fmt.Errorf("config: PAWL_SWEEP_EVERY must be at least %s, or off", minSweepEvery)
	}
	if days < 1 || days > maxRetentionDays {
		return fmt.Errorf("config: PAWL_RETENTION must be between 1 and %d days", maxRetentionDays)
	}
	return nil
}

// complete checks the configuration and sets the defaults.
func (c Config) complete() (Config, error) {
	if c.DatabaseURL == "" {
		return c, errors.New("config: no database: set PAWL_DATABASE_URL=postgres://…, or run `pawl dev` in this directory")
	}
	if err := c.checkPool(); err != nil {
		return c, err
	}
	if err := c.Deployment.check(); err != nil {
		return c, err
	}
	var err error
	if c, err = c.withEncryption(); err != nil {
		return c, err
	}
	c.Connections = cmp.Or(c.Connections, defaultConnections)
	if err := checkConnections(c.Connections); err != nil {
		return c, err
	}
	c.RetentionDays = cmp.Or(c.RetentionDays, defaultRetentionDays)
	if err := checkSweeper(c.SweepEvery, c.RetentionDays); err != nil {
		return c, err
	}
	if err := completeOutputs(&c); err != nil {
		return c, err
	}
	if err := c.Notify.check(); err != nil {
		return c, err
	}
	if c.TriggerFiles && strings.Contains(c.Workspace, "{run}") {
		return c, errors.New("config: PAWL_TRIGGER_FILES watches the workspace of a tenant, and PAWL_WORKSPACE gives each run its own: use a path without {run}")
	}
	if c.Workspace == "" {
		if c.Workspace, err = os.Getwd(); err != nil {
			return c, fmt.Errorf("config: workspace: %w", err)
		}
	}
	if c.Workspace, err = filepath.Abs(c.Workspace); err != nil {
		return c, fmt.Errorf("config: workspace: %w", err)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	return c, nil
}

func checkConnections(n int) error {
	if n < minConnections || n > maxConnections {
		return fmt.Errorf("config: PAWL_DATABASE_CONNECTIONS must be between %d and %d", minConnections, maxConnections)
	}
	return nil
}

// localActivities returns the maximum number of local activities that run at the same time.
func (c Config) localActivities() int { return c.Connections - spareConnections }

// workflowTasks returns the maximum number of workflow tasks that the worker takes from Temporal at the same time: for
// each local activity its task, and a second task that is ready when the activity ends. More tasks would only wait in
// the worker while their timeouts run; on the server, the tenants take turns.
func (c Config) workflowTasks() int { return 2*c.localActivities() + idlePolls }

// localTools returns the maximum number of local activities that run tools of one tenant: half of
// all local activities. The other half is for the steps of its calls and for other tenants.
func (c Config) localTools() int { return max(1, c.localActivities()/2) }
