// Package triggerhttp is the HTTP handler that receives webhooks of triggers: it verifies the signature of a webhook, and
// has its run started.
//
// It must never say anything about an agent or a run in an answer, log a value of an event or a header, or keep a secret.
// Programs that serve webhooks import it; `pawl serve --triggers` does.
package triggerhttp
