package worker

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// Config is what an operator sets, from the environment or from flags.
type Config struct {
	// Temporal is how to reach the server: TEMPORAL_* variables and profiles.
	Temporal client.Options
	// TemporalUI is the address of Temporal's UI, for links: PAWL_TEMPORAL_UI.
	TemporalUI string
	// DatabaseURL is PAWL_DATABASE_URL, then DATABASE_URL. It is a secret.
	DatabaseURL string
	// dev is the directory of the `pawl dev` whose servers these are, or "".
	dev string
	// Workspace is the directory that file tools see: PAWL_WORKSPACE, else the
	// working directory.
	Workspace string
	// PolicyFile is applied where no policy is active, or with ApplyPolicy:
	// PAWL_POLICY.
	PolicyFile  string
	ApplyPolicy bool
	// SearchAttributes is off with PAWL_SEARCH_ATTRIBUTES=off.
	SearchAttributes bool
	// ConnectionKey keys the hash of connections in search attributes:
	// PAWL_CONNECTION_KEY. It is a secret.
	ConnectionKey []byte
	// Connections bounds the database pool: PAWL_DATABASE_CONNECTIONS, 4–1000.
	Connections int
	// SweepEvery is the interval of the sweeper's schedule: PAWL_SWEEP_EVERY, at
	// least a second. 0 makes none: PAWL_SWEEP_EVERY=off.
	SweepEvery time.Duration
	// VerifyEvery is the interval at which closed histories are searched for secrets,
	// at least a minute: PAWL_VERIFY_EVERY. 0 searches none.
	VerifyEvery time.Duration
	// RetentionDays is how long a settled call is kept: PAWL_RETENTION, 1–3650
	// days; 0 means 400.
	RetentionDays int
	// OpenFGA is the server that authorizes calls, in the place of the built-in
	// engine; the zero value names none.
	OpenFGA OpenFGA
	// Notify configures who gets notices about approval requests. The zero value sends none.
	Notify Notify
	// KeyRing opens the credentials of connections.
	KeyRing KeyRing
	// Codec encrypts what Temporal keeps; the zero value does not.
	Codec Codec
	// encrypted says that Temporal has the converters of Codec.
	encrypted bool
	// DisabledTools are ids, or prefixes and *, of tools that the worker does not offer:
	// PAWL_DISABLED_TOOLS, separated by commas. Their capabilities need not be provided.
	DisabledTools []string
	// OIDC are the issuers whose ID tokens prove the identity of approvers: PAWL_OIDC_FILE names a
	// file with them, PAWL_OIDC_ISSUER is one.
	OIDC []OIDCIssuer
	// Log is where the worker reports; nil means text on standard error.
	// LoadConfig sets one of the level PAWL_LOG_LEVEL.
	Log *slog.Logger
}

// Bounds of the pool. Local activities may not outnumber connections, or they
// queue while their task's clock runs.
const (
	defaultConnections = 20
	minConnections     = 4
	maxConnections     = 1000
	// spareConnections serve claims, the relay and policy reads.
	spareConnections = 3
)

// Bounds of the sweeper.
const (
	// DefaultSweepEvery is the interval where the operator sets none.
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
		Temporal:         temporal,
		TemporalUI:       os.Getenv("PAWL_TEMPORAL_UI"),
		DatabaseURL:      cmp.Or(os.Getenv("PAWL_DATABASE_URL"), os.Getenv("DATABASE_URL")),
		Workspace:        os.Getenv("PAWL_WORKSPACE"),
		PolicyFile:       os.Getenv("PAWL_POLICY"),
		SearchAttributes: os.Getenv("PAWL_SEARCH_ATTRIBUTES") != "off",
		ConnectionKey:    []byte(os.Getenv("PAWL_CONNECTION_KEY")),
		Connections:      defaultConnections,
		OpenFGA:          loadOpenFGA(),
		KeyRing:          loadKeyRing(),
	}
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
	if c, err = c.encrypting(); err != nil {
		return Config{}, err
	}
	if c.SweepEvery, c.RetentionDays, err = loadSweeper(); err != nil {
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
	c.DisabledTools = words(os.Getenv("PAWL_DISABLED_TOOLS"))
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
	return c.findDev()
}

// loadSweeper reads what says how the record is looked after.
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

// complete checks the configuration and fills in what was left out.
func (c Config) complete() (Config, error) {
	if c.DatabaseURL == "" {
		return c, errors.New("config: no database: set PAWL_DATABASE_URL=postgres://…, or run `pawl dev` in this directory")
	}
	var err error
	if c, err = c.encrypting(); err != nil {
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
	if err := c.Notify.check(); err != nil {
		return c, err
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

// localActivities is how many local activities run at once.
func (c Config) localActivities() int { return c.Connections - spareConnections }

// localTools is how many of them may be tools of one tenant: the other half is
// for the steps of its calls and for other tenants.
func (c Config) localTools() int { return max(1, c.localActivities()/2) }
