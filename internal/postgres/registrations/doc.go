// Package registrations stores the tools that are registered for tenants. It must not read their
// documents: package registered does. Package postgres imports it.
package registrations
