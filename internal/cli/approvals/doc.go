// Package approvals has the commands of people who decide: approvals, approve, deny and resolve.
package approvals
