package worker

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pawl-run/pawl/broker/fingerprint"
	"github.com/pawl-run/pawl/toolspec"
)

const (
	notifySecret  = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	notifyAddress = "https://hooks.example.com/canary"
)

func TestLoadNotify(t *testing.T) {
	setEnvironment(t, map[string]string{"PAWL_NOTIFY_URL": notifyAddress, "PAWL_NOTIFY_SECRET_FILE": "/run/secrets/pawl", "PAWL_NOTIFY_LOG": "on"})
	if c, err := LoadConfig(); err != nil || c.Notify != (Notify{URL: notifyAddress, SecretFile: "/run/secrets/pawl", Log: true}) {
		t.Errorf("%+v, %v", c.Notify, err)
	}
	for want, set := range map[string]map[string]string{
		"PAWL_NOTIFY_LOG must be on or off":               {"PAWL_NOTIFY_LOG": "yes"},
		"set one of them":                                 {"PAWL_NOTIFY_URL": notifyAddress, "PAWL_NOTIFY_SECRET": notifySecret, "PAWL_NOTIFY_SECRET_FILE": "f"},
		"PAWL_NOTIFY_URL needs PAWL_NOTIFY_SECRET_FILE":   {"PAWL_NOTIFY_URL": notifyAddress},
		"PAWL_NOTIFY_SECRET is set, and PAWL_NOTIFY_URL ": {"PAWL_NOTIFY_SECRET": notifySecret},
	} {
		setEnvironment(t, map[string]string{"PAWL_NOTIFY_URL": "", "PAWL_NOTIFY_SECRET": "", "PAWL_NOTIFY_SECRET_FILE": "", "PAWL_NOTIFY_LOG": ""})
		setEnvironment(t, set)
		if _, err := LoadConfig(); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "config: ") || strings.Contains(err.Error(), "canary") {
			t.Errorf("%v: %v", set, err)
		}
	}
}

// TestNotifiers: the notifiers of a worker, and the faults that stop its start. No message shows a secret.
func TestNotifiers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(notifySecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	notify := func(context.Context, toolspec.Notice) error { return nil }
	for _, tc := range []struct {
		name    string
		config  Notify
		options []Option
		want    []string
		fault   string
	}{
		{"nobody", Notify{}, nil, nil, ""},
		{"all", Notify{URL: notifyAddress, SecretFile: file, Log: true}, []Option{Notifier("chat", notify), Notifier("mail-2", notify)}, []string{"chat", "log", "mail-2", "webhook"}, ""},
		{"by a variable", Notify{URL: notifyAddress, Secret: notifySecret}, nil, []string{"webhook"}, ""},
		{"no file", Notify{URL: notifyAddress, SecretFile: file + "x"}, nil, nil, "no such file"},
		{"no secret", Notify{URL: notifyAddress, Secret: "canary"}, nil, nil, "PAWL_NOTIFY_SECRET: a secret is whsec_"},
		{"in the clear", Notify{URL: "http://hooks.example.com/canary", Secret: notifySecret}, nil, nil, "must begin with https://"},
		{"nil", Notify{}, []Option{Notifier("chat", nil)}, nil, "was given nil"},
		{"twice", Notify{}, []Option{Notifier("chat", notify), Notifier("chat", notify)}, nil, "the name is taken"},
		{"the webhook's name", Notify{}, []Option{Notifier("webhook", notify)}, nil, "the name is taken"},
		{"an odd name", Notify{}, []Option{Notifier("Chat!", notify)}, nil, "small letters"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			a := added(tc.options)
			var log strings.Builder
			o := &opened{}
			defer o.close()
			live := &fingerprint.Set{}
			got, err := notifiers(o, Config{Notify: tc.config}, a, live, slog.New(slog.NewTextHandler(&log, nil)))
			if (err == nil) != (tc.fault == "") || err != nil && (!strings.Contains(err.Error(), tc.fault) || strings.Contains(err.Error(), "canary")) {
				t.Errorf("error %v", err)
			}
			if names := slices.Sorted(maps.Keys(got)); err == nil && !slices.Equal(names, tc.want) {
				t.Errorf("told are %v", names)
			}
			if looked := len(live.FindString("it is "+notifySecret)) > 0; looked != slices.Contains(tc.want, "webhook") {
				t.Errorf("the secret is looked for in what leaves: %v", looked)
			}
			if strings.Contains(log.String(), "canary") || strings.Contains(log.String(), "MfKQ9r8") {
				t.Error(log.String())
			}
		})
	}
}
