package trigger

import (
	"bytes"
	"fmt"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/pawl-run/pawl/policy/document"
)

// written is a document in the order and the words in which people write it.
type written struct {
	Name         string            `yaml:"name"`
	Version      string            `yaml:"version"`
	Tenant       string            `yaml:"tenant"`
	Actor        string            `yaml:"actor"`
	Agent        string            `yaml:"agent"`
	AgentVersion string            `yaml:"agentVersion,omitempty"`
	On           Source            `yaml:"on"`
	Webhook      *writtenWebhook   `yaml:"webhook,omitempty"`
	Schedule     *writtenTimes     `yaml:"schedule,omitempty"`
	Pawl         *writtenOwn       `yaml:"pawl,omitempty"`
	Postgres     *writtenPostgres  `yaml:"postgres,omitempty"`
	Files        *writtenFiles     `yaml:"files,omitempty"`
	Quota        *writtenQuota     `yaml:"quota,omitempty"`
	Prompt       string            `yaml:"prompt"`
	Session      string            `yaml:"session,omitempty"`
	Tools        []string          `yaml:"tools,omitempty"`
	Connections  map[string]string `yaml:"connections,omitempty"`
}

type writtenWebhook struct {
	Secret    string    `yaml:"secret"`
	Signature Signature `yaml:"signature,omitempty"`
}

type writtenTimes struct {
	Cron  string `yaml:"cron,omitempty"`
	Zone  string `yaml:"zone,omitempty"`
	Every string `yaml:"every,omitempty"`
}

type writtenOwn struct {
	Event    Happening `yaml:"event"`
	Agents   []string  `yaml:"agents,omitempty"`
	Tools    []string  `yaml:"tools,omitempty"`
	Outcomes []string  `yaml:"outcomes,omitempty"`
}

type writtenPostgres struct {
	Channel string `yaml:"channel"`
	ID      string `yaml:"id,omitempty"`
}

type writtenFiles struct {
	Include string   `yaml:"include"`
	Exclude string   `yaml:"exclude,omitempty"`
	Changes []Change `yaml:"changes,omitempty"`
}

type writtenQuota struct {
	Tokens int    `yaml:"tokens"`
	Every  string `yaml:"every"`
}

// Write writes a document as YAML that Read reads as the same document.
func Write(d Document) ([]byte, error) {
	w := written{
		Name: d.Name, Version: d.Version, Tenant: d.TenantID, Actor: d.ActorID, Agent: d.Agent, AgentVersion: d.AgentVersion, On: d.On, Prompt: d.Prompt,
		Session: d.SessionID, Tools: d.Tools, Connections: d.Connections,
	}
	if d.Webhook != nil {
		w.Webhook = &writtenWebhook{d.Webhook.Secret, d.Webhook.Signature}
	}
	if d.Times != nil {
		w.Schedule = &writtenTimes{Cron: d.Times.Cron, Zone: d.Times.Zone}
		if d.Times.EverySeconds > 0 {
			w.Schedule.Every = document.Brief(time.Duration(d.Times.EverySeconds) * time.Second)
		}
	}
	if d.Own != nil {
		w.Pawl = &writtenOwn{d.Own.Event, d.Own.Agents, d.Own.Tools, d.Own.Outcomes}
	}
	if d.Postgres != nil {
		w.Postgres = &writtenPostgres{d.Postgres.Channel, d.Postgres.ID}
	}
	if d.Files != nil {
		w.Files = &writtenFiles{d.Files.Include, d.Files.Exclude, d.Files.Changes}
	}
	if d.Quota != nil {
		w.Quota = &writtenQuota{d.Quota.Tokens, document.Brief(time.Duration(d.Quota.EverySeconds) * time.Second)}
	}
	var text bytes.Buffer
	encoder := yaml.NewEncoder(&text)
	encoder.SetIndent(2)
	if err := encoder.Encode(w); err != nil {
		return nil, fmt.Errorf("trigger: %w", err)
	}
	return text.Bytes(), nil
}
