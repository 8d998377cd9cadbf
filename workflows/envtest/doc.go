// Package envtest creates test environments for workflows and activities.
package envtest
