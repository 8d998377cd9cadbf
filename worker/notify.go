package worker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/internal/notify"
	"github.com/pawl-run/pawl/internal/postgres/outbox"
	"github.com/pawl-run/pawl/toolspec"
)

// Notify configures the receivers of notices about approval requests.
type Notify struct {
	// URL is the address of a webhook: PAWL_NOTIFY_URL. Empty means no webhook. The worker treats
	// it as a secret, because the addresses of some receivers contain a token.
	URL string
	// Secret is the key that signs notices: PAWL_NOTIFY_SECRET. SecretFile is the name of a file
	// with the key: PAWL_NOTIFY_SECRET_FILE. Set only one of them. While a new key replaces an old
	// key, the text has both keys, separated by white space.
	Secret     string
	SecretFile string
	// Log writes notices into the worker's log: PAWL_NOTIFY_LOG=on.
	Log bool
}

func loadNotify() (Notify, error) {
	n := Notify{URL: os.Getenv("PAWL_NOTIFY_URL"), Secret: os.Getenv("PAWL_NOTIFY_SECRET"), SecretFile: os.Getenv("PAWL_NOTIFY_SECRET_FILE")}
	switch text := os.Getenv("PAWL_NOTIFY_LOG"); text {
	case "", "off":
	case "on":
		n.Log = true
	default:
		return n, errors.New("config: PAWL_NOTIFY_LOG must be on or off")
	}
	return n, n.check()
}

func (n Notify) check() error {
	switch {
	case n.Secret != "" && n.SecretFile != "":
		return errors.New("config: PAWL_NOTIFY_SECRET and PAWL_NOTIFY_SECRET_FILE: set one of them")
	case n.URL != "" && n.Secret == "" && n.SecretFile == "":
		return errors.New("config: PAWL_NOTIFY_URL needs PAWL_NOTIFY_SECRET_FILE, or PAWL_NOTIFY_SECRET: without a signature anybody could notify its receiver")
	case n.URL == "" && (n.Secret != "" || n.SecretFile != ""):
		return errors.New("config: PAWL_NOTIFY_SECRET is set, and PAWL_NOTIFY_URL is not")
	}
	return nil
}

// webhook returns the configured webhook. It adds the keys of the webhook to live, so that the
// worker removes them from its output.
func (n Notify) webhook(live *fingerprint.Set) (*notify.Webhook, error) {
	text := n.Secret
	if n.SecretFile != "" {
		raw, err := os.ReadFile(n.SecretFile)
		if err != nil {
			return nil, fmt.Errorf("config: PAWL_NOTIFY_SECRET_FILE: %w", err)
		}
		text = string(raw)
	}
	secrets, err := notify.ParseSecrets(text)
	if err != nil {
		return nil, fmt.Errorf("config: PAWL_NOTIFY_SECRET: %w", err)
	}
	w, err := notify.NewWebhook(n.URL, secrets)
	if err != nil {
		return nil, fmt.Errorf("config: PAWL_NOTIFY_URL: %w", err)
	}
	if err := secrets.Register(func(n int, key []byte) error { return live.Add(fmt.Sprintf("PAWL_NOTIFY_SECRET %d", n), key) }); err != nil {
		return nil, fmt.Errorf("config: PAWL_NOTIFY_SECRET: %w", err)
	}
	return w, nil
}

// Names of the configured notifiers. The notifiers of the option Notifier have other names.
const (
	webhookName = "webhook"
	logName     = "log"
)

// notifying is a notifier of the option Notifier.
type notifying struct {
	name   string
	notify func(context.Context, toolspec.Notice) error
}

// Notify calls the function of the option Notifier.
func (n notifying) Notify(ctx context.Context, notice toolspec.Notice) error {
	return n.notify(ctx, notice)
}

// notifiers returns all notifiers of this worker, by name.
func notifiers(o *opened, c Config, a additions, live *fingerprint.Set, log *slog.Logger) (map[string]outbox.Notifier, error) {
	all := map[string]outbox.Notifier{}
	if c.Notify.URL != "" {
		w, err := c.Notify.webhook(live)
		if err != nil {
			return nil, err
		}
		o.add(w.Close)
		all[webhookName] = w
		log.Info("a webhook gets notices about approval requests", "host", w.Host())
	}
	if c.Notify.Log {
		all[logName] = notify.NewLog(log)
	}
	for _, n := range a.notifiers {
		_, taken := all[n.name]
		switch {
		case n.notify == nil:
			return nil, fmt.Errorf("worker.Notifier %q was given nil", n.name)
		case n.name == "" || len(n.name) > 64 || strings.Trim(n.name, "abcdefghijklmnopqrstuvwxyz0123456789-") != "":
			return nil, fmt.Errorf("worker.Notifier %q: a name has 1 to 64 small letters, digits and -", n.name)
		case taken || n.name == webhookName || n.name == logName:
			return nil, fmt.Errorf("worker.Notifier %q: the name is taken", n.name)
		}
		all[n.name] = n
	}
	return all, nil
}
