// Package registrations stores the tools that are registered for tenants. It must not read their
// documents: package registered reads them. Package postgres imports it.
package registrations
